// A tool, or the one who wrote a repository, puts a link where the user later names a directory, where another session works,
// or where skein writes its own files. No sandbox may open what the link leads to.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createVictim, model, secret, tiers, untouched, users, type Victim } from "./setup.ts";

/** The command reads a key and changes a file of the user, through the directory `$at`. */
const steal = (at: string) => `cat ${at}/id_ed25519; echo PWNED >>${at}/authorized_keys`;

const task = ["run", "go on", "-m", model, "--json"];

for (const person of users) {
  for (const tier of tiers) {
    describe(`${person.name}, ${tier}`, () => {
      let victim: Victim;
      let shared = "";
      beforeAll(() => {
        shared = realpathSync(mkdtempSync(join(tmpdir(), "skein-shared-")));
        chmodSync(shared, 0o1777);
        victim = createVictim(person, tier, { TMPDIR: shared });
      });
      afterAll(async () => {
        await victim.end();
        rmSync(shared, { recursive: true, force: true });
      });
      const expectNothingLost = () => {
        expect(victim.files()).toEqual(untouched);
        expect(victim.server.requests.filter(({ text }) => text.includes(secret))).toEqual([]);
      };

      test.each(["--allow-write", "--add-dir"])("a link that a tool has left is refused as %s", async (flag) => {
        const project = victim.project(`flag${flag}`);
        expect((await victim.run(project, task, { command: "ln -s $HOME/.ssh out" })).code).toBe(0);
        const ran = await victim.run(project, [...task, flag, "out"], { command: steal("out") });
        expect({ code: ran.code, err: ran.err }).toEqual({ code: 9, err: expect.stringContaining("name its target instead") });
        expectNothingLost();
      });

      test("a session whose directory a tool of another session has replaced by a link refuses to run", async () => {
        const project = victim.project("nested");
        const inner = join(project, "pkg");
        mkdirSync(join(inner, ".skein"), { recursive: true });
        const first = await victim.run(inner, task);
        expect(first.code).toBe(0);
        expect((await victim.run(project, task, { command: "mv pkg old && ln -s $HOME/.ssh pkg" })).code).toBe(0);
        const session = first.json()["session_id"] as string;
        for (const policy of ["workspace", "readonly"]) {
          const ran = await victim.run(project, [...task, "--resume", session, "--policy", policy], { command: steal(".") });
          expect({ code: ran.code, err: ran.err }).toEqual({ code: 9, err: expect.stringContaining("is a symbolic link") });
        }
        expectNothingLost();
      });

      test("skein writes nothing through links in a temp directory that is the project", async () => {
        // The first turn starts skein's git. Its files had names that a tool could guess.
        const plant = "for d in skein-*/io; do for n in $(seq 1 60); do ln -s $HOME/.bashrc $d/$n.in; done; done; echo x >new";
        for (const command of [plant, "true"]) expect((await victim.run(shared, task, { command })).code).toBe(0);
        expectNothingLost();
      });
    });
  }
}
