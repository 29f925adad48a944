// A session has the name that a client, a model or an imported transcript gave it. Completing it in a shell runs nothing.
import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { skeinCommand, temporaryHome } from "../support/temporary-home.ts";

test("bash completes a session whose name is a command without running it", async () => {
  using skein = temporaryHome({ ANTHROPIC_API_KEY: "key" });
  const planted = join(skein.root, "PLANTED");
  const names = [`$(touch ${planted})`, `\`touch ${planted}\``];
  for (const name of names) expect((await skein.run(["new", name])).code).toBe(0);
  const bin = join(skein.root, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "skein"), `#!/bin/sh\nexec ${skeinCommand().join(" ")} "$@"\n`);
  chmodSync(join(bin, "skein"), 0o755);
  const script = `source <(skein completions bash)
COMP_WORDS=(skein show ""); COMP_CWORD=2; _skein; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const child = Bun.spawn(["bash", "-c", script], {
    cwd: skein.project,
    env: { ...skein.env, PATH: `${bin}:${skein.env["PATH"]}` },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const completed = (await new Response(child.stdout).text()).trimEnd().split("\n");
  expect({ isPlanted: existsSync(planted), completed: completed.toSorted() }).toEqual({ isPlanted: false, completed: names.toSorted() });
});
