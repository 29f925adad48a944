// In a worktree the hooks of a project are files like others. A merge must not bring a changed one into the project unseen,
// also if its path has links. The proof is what the user's own git runs afterwards.
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, wireModels } from "../../support/temporary-home.ts";

const hook = "printf '#!/bin/sh\\n%s\\n' \"$plant\"";
const settings = 'printf \'[core]\\n\\tfsmonitor = "%s; false"\\n\' "$plant"';

const merges = {
  "a hook in the configured directory": {
    prepare: `mkdir hooks; ${hook.replace("$plant", "true")} > hooks/pre-commit; chmod +x hooks/pre-commit; git config core.hooksPath hooks`,
    inside: 'echo "$plant" >> hooks/pre-commit',
  },
  "a hook behind a link to its directory": {
    prepare: `mkdir hooks; ${hook.replace("$plant", "true")} > hooks/pre-commit; chmod +x hooks/pre-commit; ln -s hooks .githooks; git config core.hooksPath .githooks`,
    inside: 'echo "$plant" >> hooks/pre-commit',
  },
  "a link in the place of a directory above missing hooks": {
    prepare: "git config core.hooksPath ci/hooks",
    inside: `mkdir -p other/hooks; ${hook} > other/hooks/pre-commit; chmod +x other/hooks/pre-commit; ln -s other ci`,
  },
  "a file of settings behind a link": {
    prepare: "echo > shared; ln -s shared .gitshared; git config include.path ../.gitshared",
    inside: `${settings} >> shared`,
  },
  "a program that the settings name": {
    prepare: "echo exit 1 > monitor; git config core.fsmonitor 'sh monitor'",
    inside: 'echo "$plant" > monitor',
  },
};

test.each(Object.entries(merges))("a merge without a confirmation does not bring in %s", async (_, { prepare, inside }) => {
  const server = startModelServer(shellScript([]));
  using skein = temporaryHome({ ...vendorEnv(server.url), GIT_CONFIG_NOSYSTEM: "1" });
  try {
    const plant = `touch ${join(skein.root, "PLANTED")}`;
    const outside = (script: string) => {
      const identity = { GIT_AUTHOR_NAME: "a", GIT_AUTHOR_EMAIL: "a@b", GIT_COMMITTER_NAME: "a", GIT_COMMITTER_EMAIL: "a@b" };
      Bun.spawnSync(["bash", "-c", script], { cwd: skein.project, env: { ...skein.env, ...identity } });
    };
    outside(`rm -rf .git; git init -q .; ${prepare}; git add -A; git commit -q --allow-empty -m one`);
    server.setScript(shellScript([`plant='${plant}'; ${inside}`]));
    expect((await skein.run(["run", "go", "-w", "side", "-m", wireModels.anthropic])).code).toBe(0);
    const merged = await skein.run(["merge", "side", "--yes"]);
    expect({ code: merged.code, err: merged.err }).toEqual({ code: 2, err: expect.stringContaining("nothing was merged") });
    outside("git status; git commit -q --allow-empty -m two");
    expect(existsSync(join(skein.root, "PLANTED"))).toBe(false);
  } finally {
    await server.stop();
  }
});
