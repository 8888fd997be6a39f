import type { OutlineTurn } from '@recount/contract';
import { type CSSProperties, type MouseEvent, memo, type ReactNode, useEffect, useRef, useState } from 'react';
import { formatCompact, formatMoney } from '../../format/values.ts';

const HEIGHT_PX = 46;
const ERROR_PX = 4;

/**
 * The session at a glance, one stroke for each message. Height is the context, the darker part cost; prompts and errors
 * are marked. Pointing shows a message, and clicking scrolls there.
 */
export const Timeline = memo(function Timeline({
  turns,
  current,
  goTo,
}: {
  turns: readonly OutlineTurn[];
  current: number;
  goTo: (index: number) => void;
}): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const maxContext = turns.reduce((max, turn) => Math.max(max, turn.context_tokens ?? 0), 0);
  useEffect(() => {
    const draw = (): void => {
      if (canvas.current !== null) drawTurns(canvas.current, turns, current, maxContext);
    };
    draw();
    addEventListener('resize', draw);
    addEventListener('recount-theme', draw);
    return () => {
      removeEventListener('resize', draw);
      removeEventListener('recount-theme', draw);
    };
  }, [turns, current, maxContext]);
  const [pointed, setPointed] = useState<{ index: number; share: number }>();
  const toPlace = ({ clientX, currentTarget }: MouseEvent): { index: number; share: number } => {
    const { left, width } = currentTarget.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (clientX - left) / width));
    return { index: Math.min(turns.length - 1, Math.floor(share * turns.length)), share };
  };
  const turn = pointed && turns[pointed.index];
  const errors = turns.filter(({ is_error }) => is_error).length;
  return (
    <figure className="timeline">
      <canvas
        ref={canvas}
        onClick={(event) => goTo(toPlace(event).index)}
        onPointerMove={(event) => setPointed(toPlace(event))}
        onPointerLeave={() => setPointed(undefined)}
        height={HEIGHT_PX}
        aria-label={`Timeline of ${turns.length} messages, ${errors} with errors`}
        role="img"
      />
      {turn !== undefined && (
        <p className="timeline-tip" style={{ '--at': pointed?.share } as CSSProperties} aria-hidden="true">
          {describeTurn(turn)}
        </p>
      )}
      <figcaption className="muted">
        context up to {formatCompact(maxContext)} tokens · <span className="key-prompt">▪</span> prompt{' '}
        <span className="key-cost">▪</span> cost <span className="key-error">▪</span> error
      </figcaption>
    </figure>
  );
});

const KINDS: Record<OutlineTurn['kind'], string> = {
  prompt: 'Prompt',
  answer: 'Answer',
  context: 'Context',
  system: 'System',
};

/** Such as "Message 12 · Prompt: Fix the build", or "Message 13 · Answer · 21.5K tokens in context · $0.10". */
function describeTurn({ ordinal, kind, title, context_tokens, cost_usd, is_error }: OutlineTurn): string {
  return [
    `Message ${ordinal + 1}`,
    title === null ? KINDS[kind] : `${KINDS[kind]}: ${title}`,
    ...(context_tokens === null ? [] : [`${formatCompact(context_tokens)} tokens in context`]),
    ...(cost_usd === null ? [] : [formatMoney(cost_usd)]),
    ...(is_error ? ['error'] : []),
  ].join(' · ');
}

/** The subject of one stroke (a turn, or, if there are very many, the highest of all turns on a pixel). */
interface Stroke {
  tokens: number;
  cost: number;
  isPrompt: boolean;
  isError: boolean;
}

function toStrokes(turns: readonly OutlineTurn[], maxCount: number): Stroke[] {
  const count = Math.min(turns.length, Math.max(1, Math.floor(maxCount)));
  const strokes = Array.from({ length: count }, () => ({ tokens: 0, cost: 0, isPrompt: false, isError: false }));
  for (const [index, { kind, is_error, context_tokens, cost_usd }] of turns.entries()) {
    const stroke = strokes[Math.floor((index / turns.length) * count)];
    if (stroke === undefined) continue;
    stroke.tokens = Math.max(stroke.tokens, context_tokens ?? 0);
    stroke.cost = Math.max(stroke.cost, cost_usd ?? 0);
    stroke.isPrompt ||= kind === 'prompt';
    stroke.isError ||= is_error;
  }
  return strokes;
}

function drawTurns(
  canvas: HTMLCanvasElement,
  turns: readonly OutlineTurn[],
  current: number,
  maxContext: number,
): void {
  const context = canvas.getContext('2d');
  const width = canvas.clientWidth;
  if (context === null || width === 0) return;
  const scale = devicePixelRatio;
  canvas.width = width * scale;
  canvas.height = HEIGHT_PX * scale;
  context.scale(scale, scale);
  const probe = getComputedStyle(canvas);
  const colour = (name: string): string => {
    canvas.style.color = `var(--${name})`;
    return probe.color;
  };
  const [bar, cost, prompt, error, cursor] = ['line-strong', 'accent', 'series-2', 'error', 'text'].map(colour);
  canvas.style.color = '';
  const strokes = toStrokes(turns, width);
  const step = width / Math.max(1, strokes.length);
  const stroke = Math.max(1, Math.min(step - (step > 3 ? 1 : 0), 14));
  const maxCost = strokes.reduce((max, each) => Math.max(max, each.cost), 0);
  const room = HEIGHT_PX - ERROR_PX - 2;
  const fill = (style: string | undefined, x: number, y: number, height: number): void => {
    context.fillStyle = style ?? '';
    context.fillRect(x, y, stroke, height);
  };
  for (const [index, { tokens, cost: ownCost, isPrompt, isError }] of strokes.entries()) {
    const x = index * step;
    context.globalAlpha = 0.35;
    if (tokens > 0) fill(bar, x, ERROR_PX + room - (tokens / maxContext) * room, (tokens / maxContext) * room);
    context.globalAlpha = 1;
    const part = maxCost > 0 ? (ownCost / maxCost) * room * 0.6 : 0;
    if (part > 0) fill(cost, x, ERROR_PX + room - part, part);
    if (isPrompt) fill(prompt, x, ERROR_PX, room);
    if (isError) fill(error, x, 0, ERROR_PX);
  }
  if (current >= 0) fill(cursor, (current / turns.length) * width, HEIGHT_PX - 2, 2);
}
