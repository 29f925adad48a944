import { expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WorktreeRecord } from "../../protocol/worktree/ports.ts";
import { addIgnored } from "./ignored-files.ts";

test("an ignored file that has grown since it was chosen is not copied", async () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-ignored-")));
  try {
    const [project, directory] = [join(root, "project"), join(root, "worktree")];
    mkdirSync(project);
    mkdirSync(join(directory, ".git/info"), { recursive: true });
    writeFileSync(join(project, "small"), "x");
    writeFileSync(join(project, "big"), "");
    truncateSync(join(project, "big"), (50 << 20) + 1);
    const record = { project, directory, copied: ["small"], linked: [] as string[] } as WorktreeRecord;
    await addIgnored(record, { isSecret: () => false });
    expect(statSync(join(directory, "small")).size).toBe(1);
    await expect(addIgnored({ ...record, copied: ["big"] }, { isSecret: () => false })).rejects.toThrow(
      "big has become too big for a worktree",
    );
    expect(existsSync(join(directory, "big")) ? statSync(join(directory, "big")).size : 0).toBe(0);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
