import { expect, test } from "bun:test";
import { createColorPicker } from "./row-colors.ts";

test("a row keeps its shade while it only grows, and gets another one after many changes", () => {
  const pickColors = createColorPicker(true);
  const value = (text: string, color?: number) =>
    pickColors(0, text, text.length)
      .colorOf(color === undefined ? {} : { color })
      .buffer.join();
  const first = value("a.b.c.d.e.f");
  expect([value("a.b.c.d.e.f"), value("a.b.c.d.e.f and more"), value("a.b.x.d.e.f and more")]).toEqual([first, first, first]);
  const changed = value("a,b,x,d,e,f and more");
  expect(changed).not.toBe(first);
  expect([value("a,b,x,d,e,f and more"), value("a,b,x,d,e,f and more", 6) === changed]).toEqual([changed, false]);
  expect([changed, first]).not.toContain(value("a.b.x.d.e.f and more"));
  expect(pickColors(0, "", 0).emptyFromColumn).toBe("a.b.c.d.e.f and more".length);
});

test("without colours every style has the default colour", () => {
  const colors = createColorPicker(false)(0, "x", 1);
  expect(colors.colorOf({ color: 1 })).toBe(colors.colorOf({}));
});
