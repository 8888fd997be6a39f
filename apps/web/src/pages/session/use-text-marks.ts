import { type RefObject, useEffect, useRef } from 'react';

const NAME = 'found-text';
const MAX_MARKS = 2000;

interface Hit {
  /** The message that the user went to; undefined if it does not contain the text, or is not loaded. */
  messageId: string | undefined;
  /** Height that the bar covers. */
  topPx: number;
  onScroll: () => void;
}

/**
 * Highlights a text in the document without changing the document, and scrolls once to the first one in the message that
 * the user went to, if it is out of sight.
 */
export function useTextMarks(container: RefObject<HTMLElement | null>, wanted: string, hit: Hit): void {
  const latest = useRef(hit);
  latest.current = hit;
  const shown = useRef<string>(undefined);
  useEffect(() => {
    shown.current = hit.messageId === undefined ? undefined : shown.current;
  }, [hit.messageId]);
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
      const { messageId, topPx, onScroll } = latest.current;
      const key = `${messageId} ${wanted}`;
      if (messageId === undefined || shown.current === key) return;
      const article = root.querySelector(`[data-message="${CSS.escape(messageId)}"]`);
      const first = ranges.find(({ startContainer }) => article?.contains(startContainer));
      if (first === undefined) return;
      shown.current = key;
      const { top, bottom } = first.getBoundingClientRect();
      if (top >= topPx && bottom <= innerHeight) return;
      onScroll();
      scrollBy({ top: top - topPx - (innerHeight - topPx) / 3 });
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
