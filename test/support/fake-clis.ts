// A temporary home whose PATH begins with fake CLIs (test/fixtures/bin), and the log that the fakes write.
import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { temporaryHome, type TemporaryHome, vendorEnv } from "./temporary-home.ts";

const fake = join(import.meta.dir, "..", "fixtures", "bin", "fake");

/** `input` is the text of all arguments and of stdin. */
export type FakeStart = { name: string; how: "new" | "resume" | "fork"; from: string; id: string; word: string; input: string };

export type FakeCliHome = TemporaryHome & {
  /** The starts of the fakes, in order. */
  started: () => FakeStart[];
};

/** By default nothing listens at the vendors' addresses; `env` may set others. */
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
