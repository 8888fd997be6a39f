import { type RefObject, useEffect } from 'react';

const NAME = 'found-text';
const MAX_MARKS = 2000;

/** Highlights a text in the document without changing the document. */
export function useTextMarks(container: RefObject<HTMLElement | null>, wanted: string): void {
  useEffect(() => {
    const root = container.current;
    if (root === null || wanted === '' || !('highlights' in CSS)) return;
    let frame = 0;
    const mark = (): void => {
      const ranges: Range[] = [];
      const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node !== null && ranges.length < MAX_MARKS; node = walker.nextNode()) {
        const text = node.nodeValue?.toLowerCase() ?? '';
        for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
          const range = new Range();
          range.setStart(node, at);
          range.setEnd(node, at + wanted.length);
          ranges.push(range);
        }
      }
      CSS.highlights.set(NAME, new Highlight(...ranges));
    };
    const schedule = (): void => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(mark);
    };
    schedule();
    const observer = new MutationObserver(schedule);
    observer.observe(root, { childList: true, subtree: true, characterData: true });
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame);
      CSS.highlights.delete(NAME);
    };
  }, [container, wanted]);
}
