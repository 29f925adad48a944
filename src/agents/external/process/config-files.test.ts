import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { linkConfigFile, readConfigFile, writeConfigFile } from "./config-files.ts";

let root: string;
let own: string;
let outside: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "skein-own-"));
  own = join(root, "own");
  outside = join(root, "outside");
  for (const folder of [own, outside]) mkdirSync(folder);
  writeFileSync(join(outside, "settings.json"), "the user's");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe("a file of an agent's own", () => {
  test("is written with the directories above it, for its owner alone, and read back", () => {
    writeConfigFile(own, "a/b/settings.json", "one");
    writeConfigFile(own, "a/b/settings.json", "two");
    expect(readConfigFile(own, "a/b/settings.json")).toBe("two");
    expect(readdirSync(join(own, "a/b"))).toEqual(["settings.json"]);
    expect([statSync(join(own, "a")).mode & 0o777, statSync(join(own, "a/b/settings.json")).mode & 0o777]).toEqual([0o700, 0o600]);
  });

  test("is a link to one of the person's while that is wanted, whatever stood there", () => {
    const target = join(outside, "settings.json");
    mkdirSync(join(own, "a/auth.json"), { recursive: true });
    for (const wanted of [target, target, null, null]) {
      linkConfigFile(own, "a/auth.json", wanted);
      expect(existsSync(join(own, "a/auth.json"))).toBe(wanted !== null);
    }
    linkConfigFile(own, "a/auth.json", target);
    expect(readlinkSync(join(own, "a/auth.json"))).toBe(target);
    linkConfigFile(own, "a/auth.json", null);
    expect(readFileSync(target, "utf8")).toBe("the user's");
  });

  test("is written in the place of a link, not through it", () => {
    symlinkSync(join(outside, "settings.json"), join(own, "settings.json"));
    writeConfigFile(own, "settings.json", "ours");
    expect(readFileSync(join(outside, "settings.json"), "utf8")).toBe("the user's");
    expect(lstatSync(join(own, "settings.json")).isFile()).toBe(true);
  });

  test("is written in the place of a directory that was made a link", () => {
    symlinkSync(outside, join(own, "config"));
    writeConfigFile(own, "config/settings.json", "ours");
    writeConfigFile(own, "config/deep/er", "ours");
    expect(readFileSync(join(outside, "settings.json"), "utf8")).toBe("the user's");
    expect(readdirSync(outside)).toEqual(["settings.json"]);
    expect(readConfigFile(own, "config/settings.json")).toBe("ours");
  });

  test("is not read through a link, and a reading makes nothing", () => {
    symlinkSync(join(outside, "settings.json"), join(own, "settings.json"));
    symlinkSync(outside, join(own, "config"));
    expect([readConfigFile(own, "settings.json"), readConfigFile(own, "config/settings.json"), readConfigFile(own, "no/such")]).toEqual([
      null,
      null,
      null,
    ]);
    expect([lstatSync(join(own, "config")).isSymbolicLink(), existsSync(join(own, "no"))]).toEqual([true, false]);
  });
});
