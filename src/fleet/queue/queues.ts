// The queues of pg-boss: one for runs that any worker may take, one for each label, one for schedules that are due.
// A worker reads the queues of its labels.
import { Fault } from "../../protocol/api/error.ts";

/**
 * skein counts the attempts of a run itself: a job that is put back must not count as one. pg-boss ends an attempt after a day
 * at the latest.
 */
export const queueOptions = { retryLimit: 0, expireInSeconds: 23 * 3600 } as const;

/** Making a run takes a moment. A job whose worker was killed meanwhile comes back soon. */
export const dueOptions = { retryLimit: 5, expireInSeconds: 60 } as const;

export const dueQueue = "schedules";
const anyWorker = "runs";
const labelPattern = /^[a-z0-9][a-z0-9_-]{0,30}$/;

export function queueOf(label: string | null): string {
  return label === null ? anyWorker : `${anyWorker}.${checkLabel(label)}`;
}

/** The queue of the label comes first: no other worker may be able to take its runs. */
export function queuesOf(labels: readonly string[]): string[] {
  return [...labels.map(queueOf), anyWorker];
}

export function labelOf(queue: string): string | null {
  return queue === anyWorker ? null : queue.slice(anyWorker.length + 1);
}

function checkLabel(label: string): string {
  if (labelPattern.test(label)) return label;
  throw new Fault("usage", `"${label.slice(0, 40)}" is not a label`, {
    hint: "a label has at most 31 lowercase letters, digits, - and _, such as gpu",
  });
}
