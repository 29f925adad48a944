// A damaged, full, read-only or newer store. Each gives one clear line and an exit code, and no data is lost.
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { result } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { inOwnMounts } from "../../support/mounts.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const model = wireModels.anthropic;

async function withHome(check: (skein: TemporaryHome, paths: { transcript: string; store: string }) => Promise<void>): Promise<void> {
  const server = startModelServer(shellScript(["echo one", "echo two", "echo three"]));
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    const { transcript_path } = result.parse((await skein.run(["run", "work", "--session", "mine", "-m", model, "--json"])).json());
    await check(skein, { transcript: transcript_path as string, store: storeOf(skein) });
  } finally {
    await server.stop();
  }
}

function storeOf(skein: TemporaryHome): string {
  return [...new Bun.Glob("**/skein.db").scanSync({ cwd: skein.root, absolute: true })][0]!;
}

/** Returns the first line, which names the problem. Checks that no stack trace was printed. */
function firstErrorLine(err: string): string {
  expect(err).not.toMatch(/\n\s+at /);
  return err.split("\n")[0]!;
}

test("verify reports a cut-off transcript with a gap, and --repair restores it", async () => {
  await withHome(async (skein, { transcript }) => {
    const original = readFileSync(transcript, "utf8");
    writeFileSync(transcript, original.split("\n").toSpliced(3, 2).join("\n").slice(0, -10));
    const report = await skein.run(["verify"]);
    expect({ code: report.code, out: report.out }).toEqual({ code: 1, out: expect.stringContaining("lacks") });
    const repaired = await skein.run(["verify", "--repair"]);
    expect({ code: repaired.code, out: repaired.out }).toEqual({
      code: 0,
      out: expect.stringContaining("was completed with 3 missing lines"),
    });
    expect(readFileSync(transcript, "utf8")).toBe(original);
    expect((await skein.run(["verify", "--json"])).json()).toMatchObject({ ok: true, problems: [] });
  });
});

test("a damaged database page is reported in one line, listed by verify, and --repair leaves the transcript as it is", async () => {
  await withHome(async (skein, { store, transcript }) => {
    const raw = new Database(store);
    raw.run("pragma wal_checkpoint(truncate)");
    const { rootpage } = raw.query<{ rootpage: number }, []>("select rootpage from sqlite_schema where name = 'nodes'").get()!;
    raw.close();
    const bytes = readFileSync(store);
    bytes.fill(0xaa, (rootpage - 1) * 4096, rootpage * 4096);
    writeFileSync(store, bytes);
    const before = readFileSync(transcript, "utf8");
    const show = await skein.run(["show", "mine"]);
    expect(show.code).toBe(1);
    expect(firstErrorLine(show.err)).toContain("damaged");
    const checked = await skein.run(["verify", "--repair"]);
    expect({ code: checked.code, out: checked.out }).toEqual({ code: 1, out: expect.stringContaining("database") });
    expect(readFileSync(transcript, "utf8")).toBe(before);
  });
});

test("commands refuse a store of a newer version and leave it unchanged", async () => {
  await withHome(async (skein, { store }) => {
    const raw = new Database(store);
    raw.run("pragma user_version = 900");
    raw.run("pragma wal_checkpoint(truncate)");
    raw.close();
    const before = Bun.hash(readFileSync(store));
    for (const command of [["list"], ["verify", "--repair"], ["purge", "--older-than", "0"], ["run", "more", "-m", model]]) {
      const ran = await skein.run(command);
      expect(ran.code).toBe(1);
      expect(firstErrorLine(ran.err)).toContain("newer skein");
    }
    expect(Bun.hash(readFileSync(store))).toBe(before);
  });
});

test("a full disk and a read-only data directory stop a run with one line, and the stored turn is still there", async () => {
  await withHome(async (skein, { store }) => {
    const data = join(store, "..");
    const size = statSync(store).size;
    const run = `"$@" run "more" --session mine -m ${model}`;
    const tooSmall = `mount -t tmpfs -o size=${Math.ceil(size / 4096) * 4 + 64}k none /mnt && cp -a "${data}/." /mnt/ && mount --bind /mnt "${data}"`;
    const full = await inOwnMounts(skein, `${tooSmall} && (head -c 100M /dev/zero > "${data}/filler" 2>/dev/null || true) && ${run}`);
    expect(full.code).toBe(1);
    expect(firstErrorLine(full.err)).toContain("disk is full");
    const readOnly = await inOwnMounts(skein, `mount --bind "${data}" "${data}" && mount -o remount,ro,bind "${data}" && ${run}`);
    expect(readOnly.code).toBe(1);
    expect(firstErrorLine(readOnly.err)).toContain("can't be opened or written");
    expect((await skein.run(["verify", "--json"])).json()).toMatchObject({ ok: true, sessions: 1, turns: 1 });
  });
});
