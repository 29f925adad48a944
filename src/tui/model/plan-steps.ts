// Parses the steps of a plan: its lines with checkboxes, or its numbered lines if it has none.
// A step is done only if its checkbox is ticked; the text of an agent does not count.

export type PlanStep = { text: string; isDone: boolean };

const boxLine = /^\s*(?:[-*+]|\d+[.)])\s+\[([ xX])\]\s+(.*\S)\s*$/;
const numberedLine = /^\d+[.)]\s+(.*\S)\s*$/;

export function parseSteps(plan: string): PlanStep[] {
  const boxes = boxesIn(plan);
  if (boxes.length > 0) return boxes;
  return linesOf(plan).flatMap((line) => {
    const text = numberedLine.exec(line)?.[1];
    return text === undefined ? [] : [{ text, isDone: false }];
  });
}

/** The steps of `plan`, with the checkboxes that are ticked in its file now. A step that is missing in the file stays as it was. */
export function tickedSteps(plan: string, file: string): PlanStep[] {
  const boxes = boxesIn(file);
  const claimBox = (matches: (text: string) => boolean): PlanStep | undefined => {
    const index = boxes.findIndex(({ text }) => matches(text));
    return index === -1 ? undefined : boxes.splice(index, 1)[0];
  };
  const stepsWithBox = parseSteps(plan).map((step) => ({ step, box: claimBox((text) => text === step.text) }));
  return stepsWithBox.map(({ step, box: exactBox }) => {
    const { isDone } = exactBox ?? claimBox((text) => text.startsWith(step.text)) ?? step;
    return { ...step, isDone: step.isDone || isDone };
  });
}

/** `plan 2/5: text of the next step`. Null without steps. */
export function progressText(steps: readonly PlanStep[]): string | null {
  if (steps.length === 0) return null;
  const done = steps.filter(({ isDone }) => isDone).length;
  const next = steps.find(({ isDone }) => !isDone);
  return `plan ${done}/${steps.length}${next === undefined ? ": all done" : `: ${next.text}`}`;
}

function boxesIn(text: string): PlanStep[] {
  return linesOf(text).flatMap((line) => {
    const [, mark, words] = boxLine.exec(line) ?? [];
    return words === undefined ? [] : [{ text: words, isDone: mark !== " " }];
  });
}

/** The lines outside of code fences. */
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
