// The style sheet of an exported page, for light and dark. It loads nothing.

export const pageStyle = `
:root { color-scheme: light dark; --page: #fcfcfb; --card: #fff; --ink: #1d1f23; --soft: #686d76; --line: #e3e4e7; --code: #f4f4f2;
  --user: #2563a8; --agent: #2f7d4f; --tool: #8a6d1d; --note: #7a4fa3; --bad: #b3362b; --label: #e4f1e8; --label-ink: #1f6b3e; --measure: 50rem;
  --add: #dff3e4; --del: #fbe3e0; --found: #ffd54a }
@media (prefers-color-scheme: dark) { :root { --page: #16181c; --card: #1d2025; --ink: #e3e5e8; --soft: #989ea8; --line: #30343b;
  --code: #23272d; --user: #7db4f0; --agent: #7fcf9c; --tool: #d9b95c; --note: #c4a0e8; --bad: #f08a7e; --label: #1f3a2a; --label-ink: #8fdcab;
  --add: #17331f; --del: #3d1f1d; --found: #7a5c00 } }
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif }
main, header, .bar { max-width: var(--measure); margin: 0 auto; padding: 0 1.25rem }
header { padding-top: 2.5rem; padding-bottom: 1rem }
main { padding-bottom: 4rem }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .75rem; overflow-wrap: anywhere }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0; font-size: .85rem }
dt { color: var(--soft) } dd { margin: 0; overflow-wrap: anywhere }
nav { margin-top: 1rem; font-size: .9rem } nav a { margin-right: .4rem }
a { color: var(--user); text-decoration: none } a:hover { text-decoration: underline } a:not([href]) { color: inherit; text-decoration: none }
section { border-left: 2px solid var(--line); padding-left: 1.1rem; margin: 0 0 2rem }
section.root { border-left: 0; padding-left: 0 }
h2 { font-size: .95rem; font-weight: 600; color: var(--soft); margin: 0 0 .5rem }
article { padding: .75rem 0; scroll-margin-top: 4rem }
.chunk { content-visibility: auto; contain-intrinsic-size: auto 400rem } .searching .chunk { content-visibility: visible }
article + article { border-top: 1px solid var(--line) }
article.tool, article.tool + article.tool { border-top: 0; padding: .1rem 0 }
.who { display: flex; flex-wrap: wrap; align-items: baseline; gap: .6rem; font-size: .85rem; color: var(--soft) }
.who b { font-weight: 600 } .user .who b { color: var(--user) } .agent .who b { color: var(--agent) }
.tool .who b { color: var(--tool) } .note .who b { color: var(--note) }
.label { background: var(--label); color: var(--label-ink); border-radius: 1rem; padding: 0 .6rem; font-size: .8rem; font-weight: 600; overflow-wrap: anywhere }
.text { overflow-wrap: anywhere } .text > :first-child { margin-top: .3rem } .text > :last-child { margin-bottom: .2rem }
.text.typed { white-space: pre-wrap; padding-top: .3rem }
.text h1, .text h2, .text h3, .text h4 { font-size: 1.05rem; color: inherit; margin: 1rem 0 .4rem }
.text table { border-collapse: collapse; font-size: .9rem } .text th, .text td { border: 1px solid var(--line); padding: .2rem .6rem; text-align: left }
.thinking { color: var(--soft); font-style: italic; white-space: pre-wrap; overflow-wrap: anywhere }
details { margin: .25rem 0 } summary { cursor: pointer; overflow-wrap: anywhere; font-size: .88rem }
summary code { background: none; padding: 0; color: var(--soft) }
summary small, .map small { color: var(--soft); margin-left: .4rem } .call { font-size: .88rem; padding: .25rem 0; overflow-wrap: anywhere }
.call code { background: none; color: var(--soft) }
.map { margin: 1rem 0 0; border: 1px solid var(--line); border-radius: .5rem; padding: .4rem .8rem; background: var(--card) }
.map ol { list-style: none; margin: .3rem 0; padding: 0; max-height: 22rem; overflow: auto; font-size: .88rem }
.map li { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; line-height: 1.7 } .map li a:not(.label) { color: var(--ink) }
.map .label { margin-left: .5rem } .map p { margin: .3rem 0; color: var(--soft); font-size: .85rem }
.guide { white-space: pre; color: var(--soft); font-family: ui-monospace, Menlo, Consolas, monospace } .dot { margin-right: .5rem }
.a0 { color: #2f7d4f } .a1 { color: #2c6fc2 } .a2 { color: #9147b5 } .a3 { color: #b36b00 } .a4 { color: #14818c } .a5 { color: #b3362b }
.bar { position: sticky; top: 0; z-index: 1; display: flex; gap: .8rem; align-items: center; background: var(--page); padding-top: .5rem; padding-bottom: .5rem }
#find { flex: 1; font: inherit; font-size: .95rem; padding: .35rem .7rem; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: .5rem }
#found { color: var(--soft); font-size: .85rem; min-width: 6rem }
.searching article:not(.hit), .searching .branches { display: none } article.current { outline: 2px solid var(--user); outline-offset: .3rem; border-radius: .3rem }
::highlight(found) { background-color: var(--found) }
pre.diff { padding-left: 0; padding-right: 0; white-space: pre-wrap } .add, .del, .hunk, .same { display: block }
.add { background: var(--add) } .del { background: var(--del) } .hunk { color: var(--soft) } .diff { text-indent: .5rem }
.ok { color: var(--agent) } .bad { color: var(--bad) }
code, pre { font: .85rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace }
code { background: var(--code); border-radius: .25rem; padding: .1rem .3rem }
pre { background: var(--code); border: 1px solid var(--line); border-radius: .5rem; padding: .7rem .9rem; margin: .5rem 0; overflow: auto;
  max-height: 32rem; white-space: pre-wrap; overflow-wrap: anywhere } pre code { background: none; padding: 0 }
img { max-width: 100%; border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; display: block }
.branches { font-size: .9rem; color: var(--soft); padding-top: .5rem } .branches a { margin-right: .6rem }
.bold { font-weight: 700 } .dim { opacity: .7 } .italic { font-style: italic } .underline { text-decoration: underline }
.inverse { background: var(--ink); color: var(--page) }
.c0 { color: #6b7078 } .c1, .c9 { color: #c2392e } .c2, .c10 { color: #2c8a4f } .c3, .c11 { color: #97710e } .c4, .c12 { color: #2c6fc2 }
.c5, .c13 { color: #9147b5 } .c6, .c14 { color: #14818c } .c7 { color: #8a9099 } .c8 { color: #767c85 } .c15 { color: var(--ink) }
.b0 { background: #6b707844 } .b1, .b9 { background: #c2392e44 } .b2, .b10 { background: #2c8a4f44 } .b3, .b11 { background: #97710e44 }
.b4, .b12 { background: #2c6fc244 } .b5, .b13 { background: #9147b544 } .b6, .b14 { background: #14818c44 } .b7, .b8, .b15 { background: #8a909944 }
@media (prefers-color-scheme: dark) { .c1, .c9 { color: #f0857a } .c2, .c10 { color: #7ed39b } .c3, .c11 { color: #e0bd5f } .c4, .c12 { color: #82b5f5 }
  .c5, .c13 { color: #d09bec } .c6, .c14 { color: #6fd0da } }
@media print { pre { max-height: none } }
`;
