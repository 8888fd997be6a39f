import type { SessionDetail } from '@recount/contract';
import type { Turn } from '@recount/contract/conversation';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import {
  type ReactNode,
  useCallback,
  useDeferredValue,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import type { Expansion } from '../../transcript/expansion.ts';
import { hasEdit, hasError, TurnView } from '../../transcript/turn.tsx';
import { useKeys } from '../../ui/use-keys.ts';
import { useUrlState } from '../../ui/use-url-state.ts';
import { Timeline } from './timeline.tsx';
import type { Conversation } from './use-conversation.ts';
import { useTextMarks } from './use-text-marks.ts';

const ESTIMATED_TURN_PX = 120;
const OVERSCAN_TURNS = 4;

/** The conversation, of which the part in sight is in the document; with jumps by keys, buttons, timeline, search and links. */
export function Reader({
  conversation,
  expansion,
  session,
}: {
  conversation: Conversation;
  expansion: Expansion;
  session: SessionDetail;
}): ReactNode {
  const { turns, isComplete, messageCount } = conversation;
  const [{ message, find = '' }, change] = useUrlState();
  const [selected, setSelected] = useState(-1);
  const list = useRef<HTMLDivElement>(null);
  const bar = useRef<HTMLDivElement>(null);
  const [margin, setMargin] = useState(0);
  const [barHeight, setBarHeight] = useState(0);
  useLayoutEffect(() => {
    setMargin(list.current?.offsetTop ?? 0);
    // What stays at the top covers what is scrolled to: itself, and on phones the menu above it.
    if (bar.current !== null)
      setBarHeight(bar.current.offsetHeight + (Number.parseFloat(getComputedStyle(bar.current).top) || 0));
  });
  const virtual = useWindowVirtualizer({
    count: turns.length,
    estimateSize: () => ESTIMATED_TURN_PX,
    overscan: OVERSCAN_TURNS,
    scrollMargin: margin,
    scrollPaddingStart: barHeight,
    getItemKey: (index) => turns[index]?.message.id ?? index,
  });
  const goTo = useCallback(
    (index: number) => {
      if (index < 0 || index >= turns.length) return;
      setSelected(index);
      virtual.scrollToIndex(index, { align: 'start' });
    },
    [turns.length, virtual],
  );
  useLinkedMessage(message, conversation, goTo);
  const wanted = useDeferredValue(find.trim().toLowerCase());
  const found = useMemo(
    () => (wanted === '' ? [] : turns.flatMap((turn, index) => (containsText(turn, wanted) ? [index] : []))),
    [turns, wanted],
  );
  useTextMarks(list, wanted);
  const jump = (direction: 1 | -1, matches: (turn: Turn) => boolean): void =>
    goTo(findTurn(turns, selected, direction, matches));
  const inFound = (direction: 1 | -1): void => {
    const next =
      direction > 0
        ? (found.find((index) => index > selected) ?? found[0])
        : (found.findLast((index) => index < selected) ?? found.at(-1));
    if (next !== undefined) goTo(next);
  };
  useKeys({
    j: () => goTo(Math.min(turns.length - 1, selected + 1)),
    k: () => goTo(Math.max(0, selected - 1)),
    ']': () => jump(1, isPrompt),
    '[': () => jump(-1, isPrompt),
    n: () => jump(1, hasError),
    N: () => jump(-1, hasError),
    g: () => goTo(0),
    G: () => goTo(turns.length - 1),
    e: () => toggle(list.current, turns[selected], expansion),
  });
  return (
    <>
      <div className="reader-bar" ref={bar}>
        <Timeline turns={turns} current={selected} goTo={goTo} />
        <div className="row">
          <Jump label="prompt" keys={['[', ']']} jump={(direction) => jump(direction, isPrompt)} />
          <Jump label="error" keys={['N', 'n']} jump={(direction) => jump(direction, hasError)} />
          <Jump label="edit" jump={(direction) => jump(direction, hasEdit)} />
          <button type="button" className="quiet" onClick={() => expansion.setAll(true)}>
            Expand all
          </button>
          <button type="button" className="quiet" onClick={() => expansion.setAll(undefined)}>
            Fold
          </button>
          <button
            type="button"
            className="quiet"
            onClick={() => void navigator.clipboard.writeText(toMarkdown(session, turns))}
          >
            Copy as Markdown
          </button>
          <form
            className="row find"
            onSubmit={(event) => {
              event.preventDefault();
              inFound(1);
            }}
          >
            <input
              type="search"
              aria-label="Find in this session"
              placeholder="Find in this session"
              value={find}
              onChange={({ target }) => change({ find: target.value }, { replace: true })}
            />
            {wanted !== '' && (
              <span className="muted" role="status">
                {found.length.toLocaleString()} {found.length === 1 ? 'message' : 'messages'}
              </span>
            )}
          </form>
          {!isComplete && <span className="muted">{messageCount.toLocaleString()} messages loaded …</span>}
        </div>
      </div>
      <div ref={list} className="turns" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start, key }) => {
          const turn = turns[index];
          if (turn === undefined) return null;
          return (
            <div
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              className="turn-place"
              style={{ transform: `translateY(${start - margin}px)` }}
            >
              <TurnView turn={turn} isSelected={index === selected} />
            </div>
          );
        })}
      </div>
    </>
  );
}

const isPrompt = ({ kind }: Turn): boolean => kind === 'prompt';

/** -1 if there is none. */
function findTurn(turns: readonly Turn[], from: number, direction: 1 | -1, matches: (turn: Turn) => boolean): number {
  for (let index = from + direction; index >= 0 && index < turns.length; index += direction) {
    const turn = turns[index];
    if (turn !== undefined && matches(turn)) return index;
  }
  return -1;
}

const REPEATED_AFTER_MS = [100, 300, 800];

/** Goes to the message that the address names, once it is there. */
function useLinkedMessage(
  id: string | undefined,
  { turns, isComplete }: Conversation,
  goTo: (index: number) => void,
): void {
  const done = useRef<string>(undefined);
  const latest = useRef(goTo);
  latest.current = goTo;
  useEffect(() => {
    if (id === undefined || done.current === id) return;
    // Messages that hold nothing but results stand with their calls: the one before has it.
    const index = turns.findLastIndex(({ message }) => message.id <= id);
    if (index < 0 || (!isComplete && index === turns.length - 1 && turns[index]?.message.id !== id)) return;
    done.current = id;
    goTo(index);
    // Heights are measured when turns come into the document: only then is the place exact.
    for (const delayMs of REPEATED_AFTER_MS) setTimeout(() => latest.current(index), delayMs);
  }, [id, turns, isComplete, goTo]);
}

function containsText({ steps }: Turn, wanted: string): boolean {
  const contains = (text: string | null | undefined): boolean => text?.toLowerCase().includes(wanted) === true;
  return steps.some((step) => {
    if (step.kind !== 'tool')
      return (
        contains(step.block.content_text) || contains(step.block.thinking_text) || contains(step.block.result_text)
      );
    const { use, result } = step;
    return contains(use.tool_name) || contains(JSON.stringify(use.tool_input)) || contains(result?.result_text);
  });
}

/** Opens what the turn has folded, or folds it if all is open. */
function toggle(list: HTMLElement | null, turn: Turn | undefined, expansion: Expansion): void {
  if (turn === undefined) return;
  const article = list?.querySelector(`[data-message="${CSS.escape(turn.message.id)}"]`);
  const folds = [...(article?.querySelectorAll<HTMLElement>('[data-fold]') ?? [])];
  const isAllOpen = folds.every((fold) => fold.getAttribute('aria-expanded') === 'true');
  for (const { dataset } of folds) if (dataset.fold !== undefined) expansion.set(dataset.fold, !isAllOpen);
}

function Jump({
  label,
  keys,
  jump,
}: {
  label: string;
  keys?: [string, string];
  jump: (direction: 1 | -1) => void;
}): ReactNode {
  return (
    <span className="jump" role="group" aria-label={`Go to ${label}`}>
      <button
        type="button"
        className="quiet"
        aria-label={`Previous ${label}`}
        title={keys && `Key ${keys[0]}`}
        onClick={() => jump(-1)}
      >
        ↑
      </button>
      {label}
      <button
        type="button"
        className="quiet"
        aria-label={`Next ${label}`}
        title={keys && `Key ${keys[1]}`}
        onClick={() => jump(1)}
      >
        ↓
      </button>
    </span>
  );
}

/** Prompts and answers; calls of tools as a line each. */
function toMarkdown({ title, session_id }: SessionDetail, turns: readonly Turn[]): string {
  const parts = turns.flatMap(({ kind, steps }) => {
    if (kind !== 'prompt' && kind !== 'answer') return [];
    const texts = steps.flatMap((step) => {
      if (step.kind === 'text') return [step.block.content_text ?? ''];
      return step.kind === 'tool'
        ? [`- ${step.use.tool_name ?? 'tool'}${step.result?.is_error ? ' (failed)' : ''}`]
        : [];
    });
    return texts.length === 0 ? [] : [`## ${kind === 'prompt' ? 'Prompt' : 'Answer'}\n\n${texts.join('\n')}`];
  });
  return `# ${title ?? session_id}\n\n${parts.join('\n\n')}\n`;
}
