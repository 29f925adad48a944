// The project of the pictures, and the answers of the scripted model to each task. All token counts are given, so that a
// picture does not depend on the length of a path.
import type { Script, ScriptCall, ScriptStep } from "../../src/scripted-model/script.ts";

export const cart = `export type Item = { name: string; price: number; count: number };

export function total(items: Item[], discount = 0): number {
  const sum = items.reduce((all, item) => all + item.price, 0);
  return sum - sum * discount;
}
`;
export const check = `#!/bin/sh
grep -q "item.price \\* item.count\\|item.cents \\* item.count" src/cart.ts && echo "12 pass" && exit 0
echo "11 pass, 1 fail: total ignores the count"
exit 1
`;

export const bugTask = "make the tests pass";
export const roundTask = "round the total to cents";
export const integersTask = "try it with integer cents instead";
export const testsTask = "run all tests";
const steering = "leave the fixtures alone";

const bash = (command: string): ScriptCall => ({ name: "bash", input: { command } });
const edit = (old_text: string, new_text: string): ScriptCall => ({ name: "edit", input: { path: "src/cart.ts", old_text, new_text } });
const step = (cacheRead: number, calls: ScriptCall[], text?: string): ScriptStep => ({
  ...(text === undefined ? {} : { text }),
  calls,
  usage: { input: 240, output: 60, cacheRead },
});

/** A script that ends with this answer. */
function script(steps: ScriptStep[], text: string): Script {
  return { steps: [...steps, { text, usage: { input: 200, output: 40, cacheRead: 2400 } }], final: "" };
}

const scripts: Record<string, Script> = {
  [bugTask]: script(
    [
      step(0, [bash("./check")], "I'll run the tests first."),
      step(1400, [{ name: "read", input: { path: "src/cart.ts" } }]),
      step(
        1600,
        [edit("all + item.price,", "all + item.price * item.count,")],
        "`total` adds the price of each item once, whatever its count.",
      ),
      step(1900, [bash("./check")]),
    ],
    "`total` in `src/cart.ts` now multiplies by `count`. **All 12 tests pass.**",
  ),
  [roundTask]: script(
    [step(2100, [edit("return sum - sum * discount;", "return Math.round(100 * (sum - sum * discount)) / 100;")])],
    "The total is rounded to cents.",
  ),
  [integersTask]: script(
    [
      step(
        2100,
        [edit("price: number;", "cents: number;"), bash("sed -i s/item.price/item.cents/ src/cart.ts && ./check")],
        "Integers have no rounding errors.",
      ),
    ],
    "Prices are integers in cents now. All 12 tests pass.",
  ),
  [testsTask]: script([step(0, [bash("./check-all")], "I'll run all of them.")], "All 48 tests pass."),
  [steering]: script([], "All 48 tests pass; the fixtures are as they were."),
};

const report = 'skein report status "writing src/limit.ts" --progress 0.5 && ./check-all';
const memberScripts: Record<string, Script> = {
  architect: script([], "One middleware in src/limit.ts, with a bucket per client."),
  engineer: script([step(900, [bash(report)])], "The rate limit works."),
};

export function scriptFor(prompt: string): Script {
  const role = /You are the (\S+) in a team/.exec(prompt)?.[1];
  const ofTask = Object.entries(scripts).find(([words]) => prompt.includes(words))?.[1];
  return memberScripts[role ?? ""] ?? ofTask ?? script([], "Done.");
}
