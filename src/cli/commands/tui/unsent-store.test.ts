// Tests unsent messages in real files and between real processes.
import { expect, onTestFinished, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openUnsentStore } from "./unsent-store.ts";

const emptyMessage = { text: "", chips: [] };

test("a later process takes over the unsent messages of killed processes, the latest first, each once", async () => {
  const directory = join(temporaryDirectory(), "project");
  expect(openUnsentStore(directory).claim()).toBeNull();
  const older = await startScreen(directory, "the older");
  const chips = [{ label: "[image a.png]", image: "/a.png" }];
  const newer = await startScreen(directory, "the newer [image a.png]", chips);
  expect(openUnsentStore(directory).claim()).toBeNull();
  const [first = "", second = ""] = readdirSync(directory).sort(
    (a, b) => Number(a.startsWith(`${newer.pid}-`)) - Number(b.startsWith(`${newer.pid}-`)),
  );
  utimesSync(join(directory, first), 1, 1);
  expect(statSync(join(directory, second)).mode & 0o777).toBe(0o600);
  expect(statSync(directory).mode & 0o777).toBe(0o700);

  for (const child of [older, newer]) await killScreen(child);
  writeFileSync(join(directory, `${second}.tmp`), "half a mess");
  const store = openUnsentStore(directory);
  expect(store.claim()).toEqual({ unsent: { text: "the newer [image a.png]", chips }, more: 1 });
  expect(readdirSync(directory).filter((name) => name.startsWith(`${process.pid}-`) || name === first)).toHaveLength(2);
  const late = await startScreen(directory, null);
  expect(late.output).toBe("the older");
  await killScreen(late);
  store.save(null);
  expect([store.isSaved(), store.claim(), readdirSync(directory).length]).toEqual([
    false,
    { unsent: { text: "the older", chips: [] }, more: 0 },
    1,
  ]);
});

test("an unreadable file is reported and not deleted, and a failed save is reported", () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, "1-1.json"), '{"text":4}');
  const store = openUnsentStore(directory);
  expect([store.claim(), store.problem()]).toEqual([null, `${join(directory, "1-1.json")} can't be read: it is not an unsent message`]);
  expect(readdirSync(directory)).toEqual(["1-1.json"]);
  const unwritable = openUnsentStore(join(directory, "1-1.json", "below"));
  unwritable.save(emptyMessage);
  expect([unwritable.isSaved(), unwritable.problem()]).toEqual([false, expect.stringContaining("ENOTDIR")]);
});

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "skein-unsent-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Starts a process that saves `text` as an unsent message, or claims one if `text` is null. The process keeps running. */
async function startScreen(directory: string, text: string | null, chips: object[] = []) {
  const code = `
    const { openUnsentStore } = await import(${JSON.stringify(join(import.meta.dir, "unsent-store.ts"))});
    const store = openUnsentStore(${JSON.stringify(directory)});
    const [text, chips] = ${JSON.stringify([text, chips])};
    console.log(text === null ? store.claim()?.unsent.text : (store.save({ text, chips }), "saved"));
    setInterval(() => {}, 1000);`;
  const child = Bun.spawn([process.execPath, "-e", code], { stdout: "pipe", stderr: "inherit", stdin: "ignore" });
  onTestFinished(() => child.kill("SIGKILL"));
  const { value } = await child.stdout.getReader().read();
  return { pid: child.pid, output: new TextDecoder().decode(value).trim(), child };
}

async function killScreen({ child }: Awaited<ReturnType<typeof startScreen>>): Promise<void> {
  child.kill("SIGKILL");
  await child.exited;
}
