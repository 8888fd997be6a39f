import type { Turn } from '@recount/contract/conversation';
import { type MouseEvent, memo, type ReactNode, useEffect, useRef } from 'react';
import { formatCompact } from '../../format/values.ts';
import { hasError, toContextTokens } from '../../transcript/turn.tsx';

const HEIGHT_PX = 46;
const ERROR_PX = 4;

/** The session at a glance, a stroke a message: height is the context, the darker part cost; prompts and errors are marked. Clicking goes there. */
export const Timeline = memo(function Timeline({
  turns,
  current,
  goTo,
}: {
  turns: Turn[];
  current: number;
  goTo: (index: number) => void;
}): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const maxContext = turns.reduce((max, turn) => Math.max(max, toContextTokens(turn) ?? 0), 0);
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
  const onClick = ({ clientX, currentTarget }: MouseEvent): void => {
    const { left, width } = currentTarget.getBoundingClientRect();
    goTo(Math.min(turns.length - 1, Math.max(0, Math.floor(((clientX - left) / width) * turns.length))));
  };
  const errors = turns.filter(hasError).length;
  return (
    <figure className="timeline">
      <canvas
        ref={canvas}
        onClick={onClick}
        height={HEIGHT_PX}
        aria-label={`Timeline of ${turns.length} messages, ${errors} with errors`}
        role="img"
      />
      <figcaption className="muted">
        context up to {formatCompact(maxContext)} tokens · <span className="key-prompt">▪</span> prompt{' '}
        <span className="key-cost">▪</span> cost <span className="key-error">▪</span> error
      </figcaption>
    </figure>
  );
});

function drawTurns(canvas: HTMLCanvasElement, turns: readonly Turn[], current: number, maxContext: number): void {
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
  const step = width / Math.max(1, turns.length);
  const stroke = Math.max(1, Math.min(step - (step > 3 ? 1 : 0), 14));
  const maxCost = turns.reduce((max, { message }) => Math.max(max, message.cost_usd ?? 0), 0);
  const room = HEIGHT_PX - ERROR_PX - 2;
  const fill = (style: string | undefined, x: number, y: number, height: number): void => {
    context.fillStyle = style ?? '';
    context.fillRect(x, y, stroke, height);
  };
  for (const [index, turn] of turns.entries()) {
    const x = index * step;
    const tokens = toContextTokens(turn);
    context.globalAlpha = 0.35;
    if (tokens !== null && maxContext > 0)
      fill(bar, x, ERROR_PX + room - (tokens / maxContext) * room, (tokens / maxContext) * room);
    context.globalAlpha = 1;
    const part = maxCost > 0 ? ((turn.message.cost_usd ?? 0) / maxCost) * room * 0.6 : 0;
    if (part > 0) fill(cost, x, ERROR_PX + room - part, part);
    if (turn.kind === 'prompt') fill(prompt, x, ERROR_PX, room);
    if (hasError(turn)) fill(error, x, 0, ERROR_PX);
    if (index === current) fill(cursor, x, HEIGHT_PX - 2, 2);
  }
}
