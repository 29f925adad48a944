// `skein purge` deletes archived sessions for good.
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { purge, result } from "../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer } from "../../src/scripted-model/model-server.ts";
import { shellScript } from "../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, wireModels } from "../support/temporary-home.ts";

test("purge deletes archived sessions by name or age, and --dry-run shows what would be deleted", async () => {
  const server = startModelServer(shellScript([]));
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    const ran = await skein.run(["run", "say it", "--session", "old", "-m", wireModels.anthropic, "--json"]);
    const { transcript_path: transcript, session_id: id } = result.parse(ran.json());
    await skein.run(["run", "say more", "--session", "young", "-m", wireModels.anthropic, "--json"]);

    const refused = await skein.run(["purge", "old"]);
    expect({ code: refused.code, err: refused.err }).toEqual({ code: 2, err: expect.stringContaining("skein delete old") });

    for (const name of ["old", "young"]) expect((await skein.run(["delete", name])).code).toBe(0);
    expect((await skein.run(["purge"])).out).toBe("nothing to purge\n");

    const preview = await skein.run(["purge", "old", "--dry-run", "--json"]);
    const plan = purge.parse(preview.json());
    expect(plan).toMatchObject({ dry_run: true, sessions: [{ id, name: "old" }], nodes: 2, turns: 1, transcripts: 1 });
    expect(existsSync(transcript as string)).toBe(true);

    const done = await skein.run(["purge", "old", "--json"]);
    expect(purge.parse(done.json())).toEqual({ ...plan, dry_run: false });
    expect(existsSync(transcript as string)).toBe(false);
    expect((await skein.run(["restore", "old"])).code).toBe(2);

    const byAge = await skein.run(["purge"], { env: { SKEIN_PURGE_AFTER: "1ms" } });
    expect(byAge.out).toContain("purged young");
    expect(byAge.out).toContain("1 session, 2 nodes, 1 turn, 0 outputs, 1 transcript");
    expect((await skein.run(["verify", "--json"])).json()).toMatchObject({ ok: true, sessions: 0, nodes: 0 });

    const bad = await skein.run(["purge", "--older-than", "soon"]);
    expect({ code: bad.code, err: bad.err }).toEqual({ code: 2, err: expect.stringContaining('not "soon"') });
  } finally {
    await server.stop();
  }
});
