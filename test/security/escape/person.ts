// The users that make the attempts: root, and one without rights. Tests that root starts can be both users; tests that
// another user starts are only that user.
import { cpSync, copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";

export type Person = {
  name: "root" | "user" | "root in another's project";
  isRoot: boolean;
  uid: number;
  projectOwner: number;
  /** A command of this user starts with these arguments. */
  prefix: string[];
};

const repository = join(import.meta.dir, "..", "..", "..");
/** Not in the list of users, and not the number that namespaces show for unknown users. */
const unknownUid = 21_717;

export function persons(): Person[] {
  const uid = process.getuid?.() ?? -1;
  if (uid !== 0) return [{ name: "user", isRoot: false, uid, projectOwner: uid, prefix: [] }];
  const id = String(unknownUid);
  return [
    { name: "root", isRoot: true, uid: 0, projectOwner: 0, prefix: [] },
    { name: "root in another's project", isRoot: true, uid: 0, projectOwner: unknownUid, prefix: [] },
    {
      name: "user",
      isRoot: false,
      uid: unknownUid,
      projectOwner: unknownUid,
      prefix: ["setpriv", "--reuid", id, "--regid", id, "--clear-groups", "--"],
    },
  ];
}

/** Copies of Bun, skein and this directory that the user can read: a checkout may be closed to others. */
export function readableProgram(person: Person, base: string): { bun: string; main: string; escape: string } {
  const here = { bun: process.execPath, main: join(repository, "src/main.ts"), escape: import.meta.dir };
  const canRead = Object.values(here).every((path) => Bun.spawnSync([...person.prefix, "test", "-r", path]).exitCode === 0);
  if (canRead) return here;
  const copy = join(base, "program");
  mkdirSync(copy);
  for (const name of ["src", "test/security/escape", "package.json"]) cpSync(join(repository, name), join(copy, name), { recursive: true });
  copyFileSync(process.execPath, join(copy, "bun"));
  return { bun: join(copy, "bun"), main: join(copy, "src/main.ts"), escape: join(copy, "test/security/escape") };
}

/** The command that starts skein as `readableProgram` has it. SKEIN_TEST_BINARY names an executable to test instead. */
export function readableSkein({ bun, main }: Pick<ReturnType<typeof readableProgram>, "bun" | "main">): string[] {
  const binary = process.env["SKEIN_TEST_BINARY"];
  return binary === undefined ? [bun, "--config=/dev/null", "--no-env-file", "--tsconfig-override=/dev/null", main] : [binary];
}
