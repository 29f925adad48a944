// The steps of a plan: its lines with boxes, or where it has none its numbered lines; and which of them are done. Only the
// boxes tell that, never what an agent says of itself.

export type PlanStep = { text: string; isDone: boolean };

const box = /^\s*(?:[-*+]|\d+[.)])\s+\[([ xX])\]\s+(.*\S)\s*$/;
const numbered = /^\d+[.)]\s+(.*\S)\s*$/;

export function parseSteps(plan: string): PlanStep[] {
  const boxes = boxesIn(plan);
  if (boxes.length > 0) return boxes;
  return linesOf(plan).flatMap((line) => {
    const text = numbered.exec(line)?.[1];
    return text === undefined ? [] : [{ text, isDone: false }];
  });
}

/** The steps of the plan that is executed, with the boxes that have been ticked in its file since. A step that is not there any more stays as it was. */
export function tickedSteps(plan: string, file: string): PlanStep[] {
  const boxes = boxesIn(file);
  const take = (fits: (text: string) => boolean): PlanStep | undefined => {
    const at = boxes.findIndex(({ text }) => fits(text));
    return at === -1 ? undefined : boxes.splice(at, 1)[0];
  };
  const exact = parseSteps(plan).map((step) => ({ step, found: take((text) => text === step.text) }));
  return exact.map(({ step, found }) => {
    const { isDone } = found ?? take((text) => text.startsWith(step.text)) ?? step;
    return { ...step, isDone: step.isDone || isDone };
  });
}

/** `plan 2/5: the first that is not done`; null without steps. */
export function progressText(steps: readonly PlanStep[]): string | null {
  if (steps.length === 0) return null;
  const done = steps.filter(({ isDone }) => isDone).length;
  const next = steps.find(({ isDone }) => !isDone);
  return `plan ${done}/${steps.length}${next === undefined ? ": all done" : `: ${next.text}`}`;
}

function boxesIn(text: string): PlanStep[] {
  return linesOf(text).flatMap((line) => {
    const [, mark, words] = box.exec(line) ?? [];
    return words === undefined ? [] : [{ text: words, isDone: mark !== " " }];
  });
}

/** Without those of code. */
function linesOf(text: string): string[] {
  let fence: string | null = null;
  return text.split(/\r?\n/).filter((line) => {
    const [, mark] = /^\s*(`{3,}|~{3,})/.exec(line) ?? [];
    if (mark === undefined) return fence === null;
    if (fence === null) fence = mark;
    else if (mark.startsWith(fence)) fence = null;
    return false;
  });
}
