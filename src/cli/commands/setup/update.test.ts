import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "../fixtures/run-command.ts";
import { installationOf } from "./update.ts";

test("update prints the commands for an executable, a checkout and an npm package, and quotes their paths", () => {
  const checkout = join(root, "my checkout");
  mkdirSync(join(checkout, ".git"), { recursive: true });
  const commandsOf = (...selfCommand: string[]) => installationOf({ selfCommand });
  expect(commandsOf("/opt/my bin/skein")).toMatchObject({
    installedAs: "an executable",
    commands: [expect.any(String), "cp dist/skein '/opt/my bin/skein'"],
  });
  expect(commandsOf("bun", join(checkout, "src", "main.ts"))).toEqual({
    installedAs: "a checkout",
    path: checkout,
    commands: [`git -C '${checkout}' pull`, `npm --prefix '${checkout}' ci --ignore-scripts`],
  });
  expect(commandsOf("bun", "/usr/lib/node_modules/skein/dist/main.js")).toMatchObject({
    installedAs: "an npm package",
    path: "/usr/lib/node_modules/skein",
    commands: [expect.stringContaining("npm pack"), "npm install -g ./skein-<version>.tgz"],
  });
});
