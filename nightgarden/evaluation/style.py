"""The look of the evaluation's page: one style sheet, put into the page itself."""

CSS = """
:root { --ink: #22252b; --faint: #6b7280; --line: #e4e6ea; --paper: #fff; --ground: #f4f5f2;
  --good: #2f7d5b; --bad: #b4492f; --unsure: #a9842b; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--ground);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 980px; margin: 0 auto; padding: 28px 20px 60px; }
header { background: #1f2a37; color: #fff; border-radius: 14px; padding: 26px 32px; border-left: 10px solid var(--unsure); }
header.promote { border-color: #4fae83; }
header h1 { font-size: 42px; line-height: 1.1; margin: 2px 0 8px; }
header p { margin: 0; max-width: 70ch; }
header .kicker { color: #b9c2cf; font-size: 14px; }
.warning { background: #fdf3dc; border-left: 6px solid var(--unsure); padding: 12px 18px; border-radius: 8px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(210px, 1fr)); gap: 14px; margin: 16px 0; }
.tile { background: var(--paper); border-radius: 12px; padding: 14px 18px; border-top: 4px solid var(--line); }
.tile h3 { margin: 0; font-size: 13px; font-weight: 500; color: var(--faint); }
.tile b { font-size: 19px; }
.tile p { margin: 4px 0 0; font-size: 13px; color: var(--faint); }
.improved, .agree { border-top-color: var(--good); }
.worse, .refused { border-top-color: var(--bad); }
.cannot, .unverified { border-top-color: var(--unsure); }
section { background: var(--paper); border-radius: 12px; padding: 8px 26px 22px; margin: 16px 0; }
h2 { font-size: 21px; margin: 14px 0 10px; }
img { width: 100%; height: auto; }
table { width: 100%; border-collapse: collapse; font-size: 14px; margin: 8px 0; font-variant-numeric: tabular-nums; }
th { text-align: left; color: var(--faint); font-weight: 500; border-bottom: 1px solid var(--line); padding: 4px 8px 4px 0; }
td { border-bottom: 1px solid var(--line); padding: 6px 8px 6px 0; vertical-align: top; overflow-wrap: break-word; }
.note { color: var(--faint); font-size: 14px; margin: 8px 0 0; }
.dot { display: inline-block; width: 10px; height: 10px; border-radius: 50%; margin-right: 6px; background: var(--unsure); }
.dot.agree, .dot.excellent { background: var(--good); }
.dot.refused, .dot.failing { background: var(--bad); }
.dot.middle { background: #d3bf85; }
article { border-top: 1px solid var(--line); padding: 14px 0 18px; }
article h3 { margin: 0 0 6px; font-size: 15px; color: var(--faint); }
.turn { margin: 2px 0; font-size: 15px; display: flex; }
.turn i { flex: 0 0 84px; line-height: 24px; color: var(--faint); font-style: normal; font-size: 13px; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 14px; margin-top: 10px; }
.pair.of-1 { grid-template-columns: 1fr; }
.pair.of-3 { grid-template-columns: 1fr 1fr 1fr; }
@media (max-width: 700px) { .pair, .pair.of-3 { grid-template-columns: 1fr; } }
.filters { position: sticky; top: 0; background: var(--paper); border-radius: 12px; padding: 10px 26px; font-size: 14px;
  box-shadow: 0 1px 4px #0002; z-index: 1; }
.filters label { margin-left: 14px; white-space: nowrap; }
.parts { border-left: 3px solid var(--unsure); margin: 0 1px; }
.reply { background: #fafaf8; border: 1px solid var(--line); border-radius: 10px; padding: 10px 14px; }
.reply h4 { margin: 0 0 6px; font-size: 13px; font-weight: 500; color: var(--faint); }
.reply .dot { margin: 0 5px 0 8px; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.cut { color: var(--bad); font-size: 12px; border: 1px solid currentColor; border-radius: 8px; padding: 0 6px; margin-left: 6px; }
mark { border-radius: 3px; padding: 0 2px; color: inherit; }
mark.bad { background: #f8d9cf; box-shadow: inset 0 -2px 0 var(--bad); }
mark.good { background: #d8eee2; box-shadow: inset 0 -2px 0 var(--good); }
.chip { display: inline-block; background: #fbeae5; color: #7c2d1a; border-radius: 10px; font-size: 12px;
  padding: 1px 9px; margin: 8px 6px 0 0; }
"""
