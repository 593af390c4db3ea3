// The report's style sheet.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace trainstep::step {

inline constexpr std::string_view report_style = R"(
:root{color-scheme:light dark;--paper:#fff;--ink:#1d2025;--soft:#646b76;--line:#e5e7eb;--wash:#f7f8f9;
--good:#1a7f4b;--bad:#b42318;--warn:#9a6700;--c0:#2a62c4;--c1:#b45a06;--c2:#1a7f4b;--c3:#8a4fb8;
--queued:#c6ccd4;--scheduling:#9aa3b0;--starting:#8fb0ea;--running:#2a62c4;--finishing:#5f9c7c}
@media (prefers-color-scheme:dark){:root{--paper:#141619;--ink:#e3e6ea;--soft:#959daa;--line:#2a2e35;--wash:#1b1e22;
--good:#5fc994;--bad:#ff8a7d;--warn:#e3b341;--c0:#79a6f6;--c1:#f0a35e;--c2:#5fc994;--c3:#c79af0;
--queued:#454b54;--scheduling:#68707d;--starting:#3f629f;--running:#79a6f6;--finishing:#4b7d63}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
-webkit-text-size-adjust:100%}
main{max-width:58rem;margin:0 auto;padding:3.5rem 1.5rem 3rem}
h1{font-size:1.75rem;line-height:1.25;font-weight:600;letter-spacing:-.015em;margin:.15rem 0 .5rem;overflow-wrap:anywhere}
h2{font-size:1rem;font-weight:600;margin:3rem 0 .9rem}
p{margin:.35rem 0;max-width:46rem;overflow-wrap:anywhere}
.soft,.facts{color:var(--soft)}
.verdict{font-weight:600}
.good{color:var(--good)}.bad{color:var(--bad)}.warn{color:var(--warn)}
.num,td.num,.value{font-variant-numeric:tabular-nums}
code,pre{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace}
code{overflow-wrap:anywhere}
pre{margin:.9rem 0 0;padding:.9rem 1.1rem;background:var(--wash);border-left:2px solid var(--bad);
white-space:break-spaces;word-break:break-all}
.scroll{overflow-x:auto}
table{border-collapse:collapse;min-width:min(100%,30rem)}
table.wide{width:100%}
.scroll+p{margin-top:.8rem}
th{font-weight:400;font-size:13px;color:var(--soft);text-align:left}
th,td{padding:.42rem 1.4rem .42rem 0;border-bottom:1px solid var(--line);vertical-align:top}
th:last-child,td:last-child{padding-right:0}
th.num,td.num{text-align:right;white-space:nowrap}
td.name{white-space:nowrap}
td.lane{min-width:9rem;width:26%;vertical-align:middle}
svg{display:block;width:100%}
.bar{height:14px;border-radius:3px;overflow:hidden}
.lane svg{height:6px;border-radius:3px}
.queued{fill:var(--queued);background:var(--queued)}.scheduling{fill:var(--scheduling);background:var(--scheduling)}
.starting{fill:var(--starting);background:var(--starting)}.running{fill:var(--running);background:var(--running)}
.finishing{fill:var(--finishing);background:var(--finishing)}
.track{fill:var(--wash)}.life{fill:var(--running)}.life.bad{fill:var(--bad)}
.legend{display:flex;flex-wrap:wrap;gap:.3rem 1.6rem;margin:.7rem 0 0;padding:0;list-style:none}
.legend i{display:inline-block;width:.6rem;height:.6rem;border-radius:2px;margin-right:.5rem}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(16.5rem,1fr));gap:2rem 2.2rem}
figure{margin:0;min-width:0}
figcaption{display:flex;justify-content:space-between;align-items:flex-end;gap:1rem;min-height:2.9rem;margin-bottom:.5rem}
figcaption .title{overflow-wrap:break-word;min-width:0}
.value{font-size:1.25rem;line-height:1.2;font-weight:500;white-space:nowrap}
.roles{display:flex;flex-direction:column;text-align:right;line-height:1.4}
.roles span{white-space:nowrap;font-variant-numeric:tabular-nums}
.role-0{color:var(--c0)}.role-1{color:var(--c1)}.role-2{color:var(--c2)}.role-3{color:var(--c3)}
.grid{stroke:var(--line);fill:none}
.tick{font-size:10.5px;fill:var(--soft);font-variant-numeric:tabular-nums}
.end{text-anchor:end}
.curve{fill:none;stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round;stroke:var(--soft)}
.curve.line-0{stroke:var(--c0)}.curve.line-1{stroke:var(--c1)}.curve.line-2{stroke:var(--c2)}.curve.line-3{stroke:var(--c3)}
.dot{fill:var(--soft)}.dot.line-0{fill:var(--c0)}.dot.line-1{fill:var(--c1)}.dot.line-2{fill:var(--c2)}.dot.line-3{fill:var(--c3)}
footer p{max-width:none}
footer{margin-top:3.5rem;padding-top:1rem;border-top:1px solid var(--line);color:var(--soft);font-size:13px}
@media (max-width:32rem){main{padding:2rem 1.1rem}h1{font-size:1.4rem}h2{margin-top:2.4rem}th,td{padding-right:1rem}
.cards{grid-template-columns:minmax(0,1fr)}figcaption{min-height:0}
.replicas,.replicas tbody{display:block}.replicas tr{display:grid;grid-template-columns:auto 1fr;gap:0 1rem;padding:.5rem 0;border-bottom:1px solid var(--line)}
.replicas tr.names,.replicas td.once{display:none}
.replicas td{border:0;padding:.05rem 0;white-space:normal;overflow-wrap:anywhere;text-align:right}
.replicas td:first-child{text-align:left;white-space:nowrap}.replicas td.took{grid-area:1/2}.replicas td.place{grid-area:2/1/3/3;text-align:left;color:var(--soft)}
.replicas td.ended{grid-area:3/1/4/3;text-align:left}.replicas td.tries{grid-area:3/2}.replicas td.tries::after{content:" attempts"}
.replicas td.lane{grid-column:1/-1;width:auto;padding:.4rem 0 .2rem}}
@media print{main{max-width:none;padding:0}}
)";

}  // namespace trainstep::step
