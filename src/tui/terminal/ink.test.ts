import { expect, test } from "bun:test";
import { RowColorPicker } from "./ink.ts";

test("a row keeps its shade while it only grows, and gets another one after many changes", () => {
  const inks = new RowColorPicker({ color: true });
  const value = (text: string, color?: number) =>
    inks
      .forRow(0, text, text.length)
      .colorOf(color === undefined ? {} : { color })
      .buffer.join();
  const first = value("a.b.c.d.e.f");
  expect([value("a.b.c.d.e.f"), value("a.b.c.d.e.f and more"), value("a.b.x.d.e.f and more")]).toEqual([first, first, first]);
  const changed = value("a,b,x,d,e,f and more");
  expect(changed).not.toBe(first);
  expect([value("a,b,x,d,e,f and more"), value("a,b,x,d,e,f and more", 6) === changed]).toEqual([changed, false]);
  expect([changed, first]).not.toContain(value("a.b.x.d.e.f and more"));
  expect(inks.forRow(0, "", 0).emptyFromColumn).toBe("a.b.c.d.e.f and more".length);
});

test("without colours every style has the default colour", () => {
  const ink = new RowColorPicker({ color: false }).forRow(0, "x", 1);
  expect(ink.colorOf({ color: 1 })).toBe(ink.colorOf({}));
});
