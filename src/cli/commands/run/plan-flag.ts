// Reads the file of `run --plan`, before anything is written.
import { readRegularFile } from "../../../kit/files/safe-file.ts";
import { Fault, messageOf } from "../../../protocol/api/error.ts";
import { maxPlanBytes, type Plan } from "../../../protocol/tree/turn.ts";
import { statOrNull } from "./flag-value.ts";

/** The prompt if the user gives no task besides the plan. */
export const planTask = "Carry out the plan.";

export function readPlan(file: string): Plan {
  const problem = (why: string, hint?: string) => new Fault("usage", `--plan: ${why}`, hint === undefined ? {} : { hint });
  const stat = statOrNull(file);
  if (stat === null) throw problem(`no file ${file}`, 'write one: skein run --policy plan "what to plan"');
  if (stat.isDirectory()) throw problem(`${file} is a directory`);
  if (!stat.isFile()) throw problem(`${file} is no regular file`);
  if (stat.size > maxPlanBytes) throw problem(`${file} has ${stat.size} bytes; a plan may have ${maxPlanBytes}`);
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(readRegularFile(file, { maxBytes: maxPlanBytes }) ?? Buffer.alloc(0));
    if (text.trim() !== "") return { file, text };
  } catch (error) {
    throw problem(error instanceof TypeError ? `${file} is not UTF-8 text` : messageOf(error));
  }
  throw problem(`${file} is empty`, 'write the plan: skein run --policy plan "what to plan"');
}
