// Tools replace transcripts, logs and context files of skein by links to files of the user. The next turn must neither
// change such a file nor send it to the model.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createVictim, model, secret, tiers, untouched, users, type Victim } from "./setup.ts";

type Step = { at?: string; args?: string[]; command?: string };
type Row = {
  files?: Record<string, string>;
  links?: Record<string, string>;
  /** The last step's answer is a shell command. It must not arrive in ~/.bashrc. */
  steps: Step[];
};

const inLogs = ["--transcript-dir", "logs"];
const inPackage = { at: "pkg" };

const rows: Record<string, Row> = {
  "a transcript in .skein is replaced by a link": {
    steps: [{ command: "for f in .skein/sessions/*.jsonl; do ln -sf $HOME/.bashrc $f; done" }, {}],
  },
  "a transcript in a directory that the user named is replaced by a link": {
    steps: [{ args: inLogs, command: "for f in logs/*.jsonl; do ln -sf $HOME/.bashrc $f; done" }, {}],
  },
  "the directory of a transcript is replaced by a link": {
    steps: [{ args: inLogs, command: "n=$(ls logs); rm -r logs; mkdir other; ln -s $HOME/.bashrc other/$n; ln -s $PWD/other logs" }, {}],
  },
  "a transcript is replaced by a pipe": {
    steps: [{ args: inLogs, command: "for f in logs/*.jsonl; do rm $f; mkfifo $f; done" }, {}],
  },
  "the project's .skein is a link, which a tool replaces by a directory with a link": {
    files: { ".cfg/sessions/.keep": "" },
    links: { ".skein": ".cfg" },
    steps: [{ command: "n=$(ls .cfg/sessions); rm .skein; mkdir -p .skein/sessions; ln -s $HOME/.bashrc .skein/sessions/$n" }, {}],
  },
  "a transcript of a project inside of the project is replaced by a link": {
    files: { "pkg/.git/HEAD": "" },
    steps: [
      inPackage,
      { command: "for f in pkg/.skein/sessions/*.jsonl; do ln -sf $HOME/.bashrc $f; done" },
      { ...inPackage, args: ["--continue"] },
    ],
  },
};

for (const person of users) {
  for (const tier of tiers) {
    describe(`${person.name}, ${tier}`, () => {
      let victim: Victim;
      beforeAll(() => {
        victim = createVictim(person, tier);
      });
      afterAll(() => victim.end());

      test.each(Object.entries(rows))("no file of the user changes when %s", async (name, { files, links = {}, steps }) => {
        const project = victim.project(name.replaceAll(/\W+/g, "-"), files);
        for (const [path, target] of Object.entries(links)) symlinkSync(target, join(project, path));
        for (const [index, { at = ".", args = [], command }] of steps.entries()) {
          const more = index === steps.length - 1 && !args.includes("--continue") ? ["--continue", ...args] : args;
          const ran = await victim.run(join(project, at), ["run", "go on", "-m", model, "--json", ...more], {
            command,
            answer: "fine $(touch $HOME/PWNED)",
          });
          // With mounts a `.skein` that is a link can't be protected, so the run refuses.
          if (links[".skein"] !== undefined && tier === "namespaces") {
            expect({ code: ran.code, err: ran.err }).toEqual({ code: 9, err: expect.stringContaining("is a symbolic link") });
            break;
          }
          expect({ code: ran.code, err: ran.code === 0 ? "" : ran.err }).toEqual({ code: 0, err: "" });
          // After an earlier step the path is what the tool left there.
          const path = ran.json()["transcript_path"] as string;
          if (index === steps.length - 1) expect(readFileSync(path, "utf8")).toContain("fine $(touch");
        }
        expect(victim.files()).toEqual(untouched);
      });

      test("the log of an agent that is replaced by a link is not followed", async () => {
        const project = victim.project("agent-log");
        const program = join(victim.skein.root, "agent.sh");
        writeFileSync(
          program,
          '#!/bin/sh\nfor f in .skein/sessions/*.log logs/*.log; do ln -sf $HOME/.ssh/authorized_keys "$f"; done 2>/dev/null\necho ssh-rsa ATTACKER\n',
        );
        chmodSync(program, 0o755);
        const config = join(victim.skein.root, "skein", "config");
        mkdirSync(config, { recursive: true });
        writeFileSync(join(config, "config.jsonc"), JSON.stringify({ agents: { mine: { command: program } } }));
        for (const more of [[], ["--continue"], inLogs, ["--continue"]]) {
          const ran = await victim.run(project, ["run", "go on", "-a", "mine", "--json", ...more]);
          expect(ran.json()).toMatchObject({ status: "ok", result: "ssh-rsa ATTACKER" });
        }
        expect(victim.files()).toEqual(untouched);
      });

      test("files of a project that are links out of it are not sent to the model", async () => {
        const project = victim.project("context", { ".claude/skills/x/.keep": "", ".skein/roles/.keep": "", "CLAUDE.md": "inside-text" });
        symlinkSync(join(victim.skein.home, ".claude/agents/deploy.md"), join(project, ".claude/skills/x/SKILL.md"));
        symlinkSync(join(victim.skein.home, ".claude/agents/deploy.md"), join(project, ".skein/roles/deploy.md"));
        symlinkSync(join(victim.skein.home, ".ssh/id_ed25519"), join(project, "AGENTS.md"));
        const ran = await victim.run(project, ["run", "go on", "-m", model, "--json"]);
        expect(ran.code).toBe(0);
        const sent = victim.server.requests.map((request) => request.text).join("\n");
        expect(sent).toContain("inside-text");
        expect(sent).not.toContain(secret);
      });

      test("a transcript is in the data directory where tools could replace it, and in the project otherwise", async () => {
        const project = victim.project("place", { "pkg/.git/HEAD": "" });
        const pathOf = async (directory: string) =>
          (await victim.run(directory, ["run", "go on", "-m", model, "--json"])).json()["transcript_path"] as string;
        const data = join(victim.skein.root, "skein", "data", "sessions");
        expect(await pathOf(join(project, "pkg"))).toStartWith(data);
        expect(await pathOf(project)).toStartWith(tier === "landlock" ? data : join(project, ".skein", "sessions"));
      });
    });
  }
}
