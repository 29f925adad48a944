// A long list of rows with different heights. Only rows near the visible part are in the document. The list follows its end
// while the reader is there, and keeps its place when rows above change their height.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

type VirtualListProps<T extends { id: string }> = {
  items: readonly T[];
  render: (item: T) => ComponentChildren;
  label: string;
};

const estimatedHeight = 90;
/** Rows this far outside of the visible part are rendered too, so that scrolling shows no gaps. */
const marginPx = 900;
/** The reader is at the end if no more than this is below. */
const endPx = 60;

export function VirtualList<T extends { id: string }>({ items, render, label }: VirtualListProps<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  const heights = useRef(new Map<string, number>());
  const [, redraw] = useState(0);
  const [view, setView] = useState({ top: Number.MAX_SAFE_INTEGER, height: 900 });
  const isAtEnd = useRef(true);
  const heightOf = (item: T) => heights.current.get(item.id) ?? estimatedHeight;

  const { first, last, before, after } = visibleRange(items, heightOf, view);
  const observer = useMemo(
    () =>
      new ResizeObserver((entries) => {
        const element = scroller.current;
        if (element === null) return;
        let shift = 0;
        for (const { target, borderBoxSize } of entries) {
          const id = (target as HTMLElement).dataset["id"]!;
          const height = borderBoxSize[0]?.blockSize ?? 0;
          const change = height - (heights.current.get(id) ?? estimatedHeight);
          if (height === 0 || Math.abs(change) < 0.5) continue;
          heights.current.set(id, height);
          if ((target as HTMLElement).offsetTop < element.scrollTop) shift += change;
        }
        if (isAtEnd.current) element.scrollTop = element.scrollHeight;
        else if (shift !== 0) element.scrollTop += shift;
        redraw((count) => count + 1);
      }),
    [],
  );
  useLayoutEffect(() => () => observer.disconnect(), [observer]);
  useLayoutEffect(() => {
    const element = scroller.current!;
    if (isAtEnd.current) element.scrollTop = element.scrollHeight;
    setView((known) =>
      known.top === element.scrollTop && known.height === element.clientHeight
        ? known
        : { top: element.scrollTop, height: element.clientHeight },
    );
  });
  const onScroll = () => {
    const element = scroller.current;
    // The browser can report a scroll after the list was closed.
    if (element === null) return;
    isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < endPx;
    setView({ top: element.scrollTop, height: element.clientHeight });
  };
  return (
    <div ref={scroller} class="scroller" role="log" aria-label={label} aria-live="off" tabIndex={0} onScroll={onScroll}>
      <div style={{ height: `${before}px` }} />
      {items.slice(first, last).map((item) => (
        <Row key={item.id} id={item.id} observer={observer}>
          {render(item)}
        </Row>
      ))}
      <div style={{ height: `${after}px` }} />
    </div>
  );
}

function Row({ id, observer, children }: { id: string; observer: ResizeObserver; children: ComponentChildren }) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const row = element.current!;
    observer.observe(row);
    return () => observer.unobserve(row);
  }, [observer, id]);
  return (
    <div ref={element} class="row-box" data-id={id}>
      {children}
    </div>
  );
}

type Range = { first: number; last: number; before: number; after: number };

function visibleRange<T>(items: readonly T[], heightOf: (item: T) => number, view: { top: number; height: number }): Range {
  let total = 0;
  for (const item of items) total += heightOf(item);
  const top = Math.min(view.top, Math.max(0, total - view.height));
  let offset = 0;
  let first = 0;
  while (first < items.length && offset + heightOf(items[first]!) < top - marginPx) offset += heightOf(items[first++]!);
  const before = offset;
  let last = first;
  while (last < items.length && offset < top + view.height + marginPx) offset += heightOf(items[last++]!);
  return { first, last, before, after: total - offset };
}
