// A temporary home whose PATH begins with fake CLIs (test/fixtures/bin), under the names of those that are asked for,
// and what those fakes wrote down.
import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { temporaryHome, type TemporaryHome, vendorEnv } from "./temporary-home.ts";

const fake = join(import.meta.dir, "..", "fixtures", "bin", "fake");

/** `told` is all that it was told, by arguments and stdin. */
export type FakeStart = { name: string; how: "new" | "resume" | "fork"; from: string; id: string; word: string; told: string };

export type FakeCliHome = TemporaryHome & {
  /** How the fakes were started, in order. */
  started: () => FakeStart[];
};

/** Nothing listens at the vendors' addresses unless `env` says where. */
export function homeWithFakeClis(names: readonly string[], env: Record<string, string> = {}): FakeCliHome {
  const skein = temporaryHome();
  const bin = join(skein.root, "bin");
  mkdirSync(bin);
  for (const name of names) symlinkSync(fake, join(bin, name));
  Object.assign(skein.env, vendorEnv("http://127.0.0.1:9"), { PATH: [bin, dirname(process.execPath), skein.env["PATH"]].join(":") }, env);
  const log = join(skein.project, "fake.log");
  const started = () =>
    existsSync(log)
      ? readFileSync(log, "utf8")
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line) as FakeStart)
      : [];
  return Object.assign(skein, { started });
}
