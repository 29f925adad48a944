// Lets the user change a text in an editor, through a file in the state directory that is removed afterwards.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../../../protocol/api/error.ts";

/** Returns the changed text without line breaks at its end. Throws if the editor failed, so that the text stays as it was. */
export async function editText(state: string, text: string, edit: (file: string) => Promise<number | string>): Promise<string> {
  mkdirSync(state, { recursive: true, mode: 0o700 });
  const directory = mkdtempSync(join(state, "message-"));
  const file = join(directory, "message.md");
  try {
    writeFileSync(file, text, { mode: 0o600 });
    const exit = await edit(file);
    if (exit !== 0)
      throw new Fault("usage", `the editor ended with ${exit}, so the message is unchanged`, { hint: "check $VISUAL and $EDITOR" });
    return readFileSync(file, "utf8").replace(/\n+$/, "");
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
