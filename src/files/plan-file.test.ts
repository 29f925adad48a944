import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { maxPlanBytes } from "../protocol/tree/turn.ts";
import { ensurePlanFile, isPlanFile, readPlanFile } from "./plan-file.ts";

const root = mkdtempSync(join(tmpdir(), "skein-plan-file-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function project(): { path: string; folder: string; file: string } {
  const path = join(root, Bun.randomUUIDv7());
  mkdirSync(path);
  return { path, folder: join(path, ".skein"), file: join(path, ".skein", "plan.md") };
}

describe("the plan file", () => {
  test("the plan file is created with its directory, and an existing one stays as it is", () => {
    const temp = project();
    ensurePlanFile(temp.path);
    expect(readFileSync(temp.file, "utf8")).toBe("");
    writeFileSync(temp.file, "1. look");
    const { ino } = statSync(temp.file);
    ensurePlanFile(temp.path);
    expect([readFileSync(temp.file, "utf8"), statSync(temp.file).ino]).toEqual(["1. look", ino]);
  });

  test("the plan is read only from a plain UTF-8 file, and is empty if there is none", () => {
    const temp = project();
    expect(readPlanFile(temp.path)).toEqual({ file: temp.file, text: "" });
    ensurePlanFile(temp.path);
    writeFileSync(temp.file, "- [ ] 見る\n");
    expect(readPlanFile(temp.path)).toEqual({ file: temp.file, text: "- [ ] 見る\n" });
    writeFileSync(temp.file, new Uint8Array([0xff, 0xfe]));
    expect(() => readPlanFile(temp.path)).toThrow("is not UTF-8 text");
    writeFileSync(temp.file, "x".repeat(maxPlanBytes + 1));
    expect(() => readPlanFile(temp.path)).toThrow("the limit is 100000");
    const [link, folder] = [project(), project()];
    mkdirSync(link.folder);
    symlinkSync(temp.file, link.file);
    symlinkSync(temp.folder, folder.folder);
    expect(() => readPlanFile(link.path)).toThrow("it is a symbolic link");
    expect(() => readPlanFile(folder.path)).toThrow("a directory of its path is a link");
  });

  test("a link in the place of the plan file is refused, whatever its target", () => {
    const outside = join(root, "outside.txt");
    writeFileSync(outside, "theirs");
    const [link, hard, hanging, folder] = [project(), project(), project(), project()];
    for (const { folder } of [link, hard, hanging]) mkdirSync(folder);
    symlinkSync(outside, link.file);
    linkSync(outside, hard.file);
    symlinkSync(join(root, "not-there"), hanging.file);
    symlinkSync(root, folder.folder);
    for (const temp of [link, hanging]) expect(() => ensurePlanFile(temp.path)).toThrow("it is a symbolic link");
    expect(() => ensurePlanFile(hard.path)).toThrow("second name");
    expect(() => ensurePlanFile(folder.path)).toThrow("a directory of its path is a link");
    expect(readFileSync(outside, "utf8")).toBe("theirs");
  });

  test("a directory in the place of the plan file is refused", () => {
    const temp = project();
    mkdirSync(temp.file, { recursive: true });
    expect(() => ensurePlanFile(temp.path)).toThrow("it is a directory");
    const other = project();
    writeFileSync(other.folder, "");
    expect(() => ensurePlanFile(other.path)).toThrow("a directory of its path is a link or a file");
  });

  test("a plan file that can't be created is reported with its path", () => {
    expect(() => ensurePlanFile(join(root, "nowhere"))).toThrow(join(root, "nowhere", ".skein", "plan.md"));
    // root may write anywhere
    if (process.getuid?.() === 0) return;
    const temp = project();
    chmodSync(temp.path, 0o500);
    expect(() => ensurePlanFile(temp.path)).toThrow("can't be written");
  });

  test("isPlanFile accepts every path of the plan file, and no other file", () => {
    const temp = project();
    ensurePlanFile(temp.path);
    symlinkSync(temp.path, `${temp.path}-link`);
    writeFileSync(join(temp.path, "plan.md"), "");
    expect([temp.file, join(`${temp.path}-link`, ".skein", "plan.md")].map((file) => isPlanFile(temp.path, file))).toEqual([true, true]);
    expect([join(temp.path, "plan.md"), join(temp.path, "none")].map((file) => isPlanFile(temp.path, file))).toEqual([false, false]);
  });
});
