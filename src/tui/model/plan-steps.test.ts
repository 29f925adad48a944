import { describe, expect, test } from "bun:test";
import { progressText, parseSteps, tickedSteps } from "./plan-steps.ts";

const plan = "# Birds\n\n- [ ] count them\n  - [ ] the small ones\n- [x] look around\n```md\n- [ ] no step\n```\n1. and no box\n";

describe("the steps of a plan", () => {
  test("the steps of a plan are its checkboxes outside of code", () => {
    expect(parseSteps(plan)).toEqual([
      { text: "count them", isDone: false },
      { text: "the small ones", isDone: false },
      { text: "look around", isDone: true },
    ]);
  });
  test("the steps of a plan without checkboxes are its numbered lines", () => {
    expect(parseSteps("# Birds\r\n1. count\r\n   2. within\r\n2) name\r\n").map(({ text }) => text)).toEqual(["count", "name"]);
    expect(parseSteps("just do it")).toEqual([]);
  });
  test("a step is done when its checkbox is ticked in the file, and each checkbox counts once", () => {
    const twice = "- [ ] test\n- [ ] test more\n- [ ] test\n";
    const done = (file: string) => tickedSteps(twice, file).map(({ isDone }) => isDone);
    expect(done("- [ ] test\n- [ ] test more\n- [x] test\n")).toEqual([false, false, true]);
    expect(done("- [ ] test\n- [x] test more (three of them)\n- [ ] test\n")).toEqual([false, true, false]);
    expect(tickedSteps("1. count\n2. name\n", "1. [x] count\n2. name\n").map(({ isDone }) => isDone)).toEqual([true, false]);
  });
  test("steps stay as they were when the file has another plan", () => {
    expect(tickedSteps(plan, "- [x] something else\n").map(({ isDone }) => isDone)).toEqual([false, false, true]);
  });
  test("the progress of a plan shows the number of done steps and the next step", () => {
    expect(progressText(parseSteps(plan))).toBe("plan 1/3: count them");
    expect([progressText(parseSteps("- [x] all\n")), progressText([])]).toEqual(["plan 1/1: all done", null]);
  });
});
