import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { editText } from "./edit-text.ts";

test("a text is edited in a private file that is removed afterwards, also after a failed editor", async () => {
  const state = join(mkdtempSync(join(tmpdir(), "skein-test-")), "state");
  let mode = 0;
  const edited = await editText(state, "one", async (file) => {
    mode = statSync(file).mode & 0o777;
    writeFileSync(file, `${readFileSync(file, "utf8")}\ntwo\n\n`);
    return 0;
  });
  expect([edited, mode]).toEqual(["one\ntwo", 0o600]);
  await expect(editText(state, "one", async () => 127)).rejects.toThrow("the editor ended with 127, so the message is unchanged");
  expect([existsSync(state), readdirSync(state)]).toEqual([true, []]);
  rmSync(join(state, ".."), { recursive: true });
});
