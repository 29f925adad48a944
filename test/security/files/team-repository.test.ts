// Members of a team attack the team's repository: its index, refs and attributes, and the commit that skein makes of their
// work. The proof of each is outside of the sandbox.
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { git, model, repositoryIn, scriptFromPlayer, teamIn, the, type Player } from "../../support/team-journey.ts";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { temporaryHome, vendorEnv, type TemporaryHome } from "../../support/temporary-home.ts";

const secret = "-----BEGIN KEY OF THE TEST-----";
/** The git directory of the member, in a worktree and in a clone, and the team's repository. */
const places = `G=$([ -f .git ] && sed 's/gitdir: //' .git || echo "$PWD/.git"); R=$(cd ../../repo.git && pwd)`;

type Attack = {
  title: string;
  /** Runs in the member's workspace. */
  command: string;
  /** Returns the effect that the attack would have outside. */
  check: (skein: TemporaryHome, root: string) => unknown;
  expected: unknown;
};

const attacks: Attack[] = [
  {
    title: "a file in the team's repository, its refs and its hooks",
    command: `mkdir -p "$R/hooks"; touch "$R/PWNED" "$R/refs/heads/PWNED" "$R/hooks/PWNED"`,
    check: (_, root) => readdirSync(join(root, "repo.git"), { recursive: true }).filter((name) => String(name).includes("PWNED")),
    expected: [],
  },
  {
    title: "an index that is a link to a file that a shell reads",
    command: `ln -sfn "$HOME/.zshenv" "$G/index"; ln -sfn "$HOME/.zshenv" "$R/members/$(basename "$PWD").index"`,
    check: ({ home }) => existsSync(join(home, ".zshenv")),
    expected: false,
  },
  {
    title: "an index that is a link to a key",
    command: `rm -f "$G/index"; ln -s "$HOME/.ssh/id_ed25519" "$G/index"`,
    check: (_, root) => {
      const files = [...new Bun.Glob("**/*").scanSync({ cwd: root, dot: true, absolute: true })];
      return files.filter((file) => readFileSync(file, "latin1").includes(secret));
    },
    expected: [],
  },
  {
    title: "an index and a branch that are pipes",
    command: `rm -f "$G/index"; mkfifo "$G/index"; B=$(git symbolic-ref HEAD); rm -f "$G/$B"; mkdir -p "$(dirname "$G/$B")"; mkfifo "$G/$B"`,
    check: () => null,
    expected: null,
  },
  {
    title: "attributes that hide changes",
    command: `mkdir -p "$R/info" "$G/info"; for f in "$R/info/attributes" "$G/info/attributes" .gitattributes; do echo '*.sh -diff' >> "$f"; done`,
    check: (_, root) => readFileSync(join(root, "repo.git/info/attributes"), "utf8").includes("*.sh"),
    expected: false,
  },
];

for (const tier of ["namespaces", "landlock"])
  for (const { title, command, check, expected } of attacks)
    test(`a member of a team can't misuse ${title}, with ${tier}`, async () => {
      const player: Player = ({ role }) =>
        role !== "engineer" ? "Nothing." : { run: `echo 'echo work' > work.sh; ${places}; ${command}; true` };
      await withTeam(player, tier, async (skein) => {
        const ran = await skein.run(["team", "run", "work", "--agents", "engineer", ...model]);
        expect([ran.code, ran.code === 0 ? "" : ran.err]).toEqual([0, ""]);
        const { id, root } = teamIn(skein);
        const shown = await skein.run(["team", "merge", id]);
        expect(shown.out).toContain("+echo work");
        expect(check(skein, root)).toEqual(expected);
      });
    }, 120_000);

test("a planner can't put members into the project", async () => {
  const plan = (workspace: string) =>
    JSON.stringify({ done: false, phases: [{ name: "w", members: [{ key: "w", role: "engineer", task: "write", workspace }] }] });
  const prompts: string[] = [];
  const player: Player = ({ role, prompt }) => {
    if (role === "engineer") return { run: "echo x > planted.txt" };
    prompts.push(prompt);
    if (prompt.startsWith("Your plan can't be used")) return plan("worktree");
    return prompts.length === 1 ? plan("project") : JSON.stringify({ done: true, reason: "done", phases: [] });
  };
  await withTeam(player, "namespaces", async (skein) => {
    const ran = await skein.run(["team", "run", "write", ...model]);
    expect(ran.code).toBe(0);
    expect(existsSync(join(skein.project, "planted.txt"))).toBe(false);
    expect(prompts[0]).not.toContain('"project"');
    expect(prompts[1]).toContain("needs the user's choice of --workspace project");
    expect(the(teamIn(skein).log, "agent_spawned").map(({ member }) => member.workspace.kind)).toEqual(["worktree"]);
  });
}, 120_000);

test("a pipe that git would read ends a turn and a team with its path, and nothing waits for it", async () => {
  await withTeam(
    () => ({ run: "true" }),
    "namespaces",
    async (skein) => {
      await skein.run(["new", "main", "-m", "ollama/none"]);
      const made = await skein.run(["exec", "main", "mkdir sub; mkfifo sub/.gitignore; echo x > sub/a"]);
      expect([made.code, made.err]).toEqual([0, expect.stringContaining("sub/.gitignore is a pipe")]);
      const team = await skein.run(["team", "run", "work", "--agents", "engineer", ...model]);
      expect([team.code === 0, team.err]).toEqual([false, expect.stringContaining("sub/.gitignore is a pipe")]);
      const stopped = skein.start(["team", "run", "work", "--agents", "engineer", ...model]);
      while (teamsIn(skein) < 2) await Bun.sleep(20);
      stopped.kill("SIGTERM");
      expect(await stopped.exited).not.toBe(0);
    },
  );
}, 60_000);

test("a member that leaves a pipe fails with its path, and the team ends", async () => {
  await withTeam(
    () => ({ run: "mkfifo .gitattributes; echo x > a; mkdir -p deep/er; mkfifo deep/er/.gitignore; echo y > deep/er/b" }),
    "namespaces",
    async (skein) => {
      const ran = await skein.run(["team", "run", "work", "--agents", "engineer", ...model]);
      expect([ran.code, ran.err]).toEqual([1, expect.stringMatching(/its work can't be committed: \S*\.git(ignore|attributes) is a pipe/)]);
    },
  );
}, 60_000);

async function withTeam(player: Player, tier: string, work: (skein: TemporaryHome) => Promise<void>): Promise<void> {
  const server = startModelServer(scriptFromPlayer(player));
  using skein = temporaryHome({ ...vendorEnv(server.url), SKEIN_SANDBOX_BEST: tier });
  repositoryIn(skein.project);
  mkdirSync(join(skein.home, ".ssh"));
  writeFileSync(join(skein.home, ".ssh/id_ed25519"), `${secret}\n`);
  git(skein.project, "config", "user.name", "test");
  try {
    await work(skein);
  } finally {
    await server.stop();
  }
}

function teamsIn({ project }: TemporaryHome): number {
  return readdirSync(join(project, ".skein/teams")).filter((name) => !name.startsWith(".")).length;
}
