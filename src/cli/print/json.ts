// One JSON document, as `--json` prints it.
import { toPrintedJson } from "../../protocol/json/json-case.ts";

export function jsonText(value: unknown): string {
  return `${JSON.stringify(toPrintedJson(value), null, 2)}\n`;
}
