import type { Outline, OutlineTurn, SessionDetail } from '@recount/contract';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import {
  lazy,
  type ReactNode,
  type RefObject,
  Suspense,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import type { Expansion } from '../../transcript/expansion.ts';
import { TurnView } from '../../transcript/turn.tsx';
import { Failure } from '../../ui/states.tsx';
import { useKeys } from '../../ui/use-keys.ts';
import { useUrlState } from '../../ui/use-url-state.ts';
import { type Direction, isError, isPrompt, type Matches, ReaderBar } from './reader-bar.tsx';
import { useFind } from './use-find.ts';
import { useKeptPlace } from './use-kept-place.ts';
import type { ConversationKey } from './use-outline.ts';
import { useTurns } from './use-turns.ts';

/** Loaded after the conversation, which is there without it. */
const PromptOutline = lazy(async () => ({ default: (await import('./prompt-outline.tsx')).PromptOutline }));

const ESTIMATED_TURN_PX = 120;
const OVERSCAN_TURNS = 4;

/**
 * The conversation, as an outline of all turns, with texts only for visible ones, which alone are in the document.
 * Navigated by keys, buttons, timeline, search and links.
 */
export function Reader({
  conversation,
  outline,
  expansion,
  session,
}: {
  conversation: ConversationKey;
  outline: Outline;
  expansion: Expansion;
  session: SessionDetail;
}): ReactNode {
  const { turns } = outline;
  const [{ message, find = '' }] = useUrlState();
  const [selected, setSelected] = useState(-1);
  const list = useRef<HTMLDivElement>(null);
  const bar = useRef<HTMLDivElement>(null);
  const { marginPx, barHeightPx } = useMeasuredTop(list, bar);
  const virtual = useWindowVirtualizer({
    count: turns.length,
    estimateSize: () => ESTIMATED_TURN_PX,
    overscan: OVERSCAN_TURNS,
    scrollMargin: marginPx,
    scrollPaddingStart: barHeightPx,
    getItemKey: useCallback((index: number) => turns[index]?.id ?? index, [turns]),
  });
  const items = virtual.getVirtualItems();
  const {
    find: findLoaded,
    error,
    retry,
  } = useTurns(conversation, outline, items[0]?.index ?? 0, items.at(-1)?.index ?? 0);
  const { scrollTo, release } = useKeptPlace(
    virtual,
    items.filter(({ index }) => findLoaded(index) !== undefined).length,
  );
  const goTo = useCallback(
    (index: number) => {
      if (index < 0 || index >= turns.length) return;
      setSelected(index);
      scrollTo(index);
    },
    [turns.length, scrollTo],
  );
  useLinkedMessage(message, turns, goTo);
  const found = useFind(find, { conversation, turns, selected, findLoaded, expansion, list, barHeightPx, release });
  const jump = (direction: Direction, matches: Matches): void => goTo(findTurn(turns, selected, direction, matches));
  const goToFound = (direction: Direction): void => goTo(findFound(found ?? [], selected, direction));
  useReaderKeys({
    goTo,
    jump,
    selected,
    lastIndex: turns.length - 1,
    toggle: () => toggle(list.current, turns[selected], expansion),
  });
  return (
    <>
      <ReaderBar ref={bar} {...{ session, turns, expansion, goTo, jump, goToFound }} current={selected} found={found} />
      {outline.is_cut && (
        <p className="caveats">
          These are the first {outline.message_count.toLocaleString()} messages, found by their first 1,000 parts. The
          raw transcript has all of them.
        </p>
      )}
      <p className="print-note">
        Only messages that were visible are printed. “Printable page”, above the conversation, has all of them.
      </p>
      {error !== null && <Failure error={error} retry={retry} />}
      <div className="reader-columns">
        <Suspense>
          <PromptOutline turns={turns} goTo={goTo} current={selected} />
        </Suspense>
        <div ref={list} className="turns" style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, start, key }) => {
            const turn = findLoaded(index);
            const shown =
              turn === undefined ? (
                <UnloadedTurn turn={turns[index]} />
              ) : (
                <TurnView turn={turn} isSelected={index === selected} />
              );
            const style = { transform: `translateY(${start - marginPx}px)` };
            return (
              <div key={key} ref={virtual.measureElement} data-index={index} className="turn-place" style={style}>
                {shown}
              </div>
            );
          })}
        </div>
      </div>
    </>
  );
}

/** The offset of the turns on the page, and how much of the window's top is covered. */
function useMeasuredTop(list: RefObject<HTMLElement | null>, bar: RefObject<HTMLElement | null>) {
  const [marginPx, setMarginPx] = useState(0);
  const [barHeightPx, setBarHeightPx] = useState(0);
  useLayoutEffect(() => {
    setMarginPx(list.current?.offsetTop ?? 0);
    // Sticky elements cover the scroll target. They are this bar, and on phones the menu above it.
    if (bar.current !== null)
      setBarHeightPx(bar.current.offsetHeight + (Number.parseFloat(getComputedStyle(bar.current).top) || 0));
  });
  return { marginPx, barHeightPx };
}

interface ReaderMoves {
  goTo: (index: number) => void;
  jump: (direction: Direction, matches: Matches) => void;
  /** -1: none. */
  selected: number;
  lastIndex: number;
  toggle: () => void;
}

function useReaderKeys({ goTo, jump, selected, lastIndex, toggle }: ReaderMoves): void {
  useKeys({
    j: () => goTo(Math.min(lastIndex, selected + 1)),
    k: () => goTo(Math.max(0, selected - 1)),
    ']': () => jump(1, isPrompt),
    '[': () => jump(-1, isPrompt),
    n: () => jump(1, isError),
    N: () => jump(-1, isError),
    g: () => goTo(0),
    G: () => goTo(lastIndex),
    e: toggle,
  });
}

const UnloadedTurn = ({ turn }: { turn: OutlineTurn | undefined }): ReactNode => (
  <div className={`turn turn-${turn?.kind} turn-unloaded`} aria-busy="true">
    <p className="muted">Loading …</p>
  </div>
);

/** -1 if there is none. */
function findTurn(turns: readonly OutlineTurn[], from: number, direction: Direction, matches: Matches): number {
  for (let index = from + direction; index >= 0 && index < turns.length; index += direction) {
    const turn = turns[index];
    if (turn !== undefined && matches(turn)) return index;
  }
  return -1;
}

/** The next match, wrapping around; -1 if there is none. */
const findFound = (found: readonly number[], from: number, direction: Direction): number =>
  direction > 0
    ? (found.find((index) => index > from) ?? found[0] ?? -1)
    : (found.findLast((index) => index < from) ?? found.at(-1) ?? -1);

/** Scrolls to the message named in the URL. */
function useLinkedMessage(id: string | undefined, turns: readonly OutlineTurn[], goTo: (index: number) => void): void {
  const done = useRef<string>(undefined);
  useEffect(() => {
    if (id === undefined || done.current === id) return;
    // Messages with only results are shown with their calls, in an earlier turn.
    const index = turns.findLastIndex((turn) => turn.id <= id);
    if (index < 0) return;
    done.current = id;
    goTo(index);
  }, [id, turns, goTo]);
}

/** Expands the turn's collapsed parts, or collapses all if all are expanded. */
function toggle(list: HTMLElement | null, turn: OutlineTurn | undefined, expansion: Expansion): void {
  if (turn === undefined) return;
  const article = list?.querySelector(`[data-message="${CSS.escape(turn.id)}"]`);
  const folds = [...(article?.querySelectorAll<HTMLElement>('[data-fold]') ?? [])];
  const isAllOpen = folds.every((fold) => fold.getAttribute('aria-expanded') === 'true');
  for (const { dataset } of folds) if (dataset.fold !== undefined) expansion.set(dataset.fold, !isAllOpen);
}
