import { describePrompt } from '@recount/contract/live-conversation';
import type { AgentEvent, LiveWarning, ToolEndEvent } from '@recount/core/live';
import { formatCount, formatDuration } from '../terminal/format-values.ts';
import { cutToWidth, toTextWidth } from '../terminal/text-width.ts';
import { toFirstLine, toShownOutput, toShownText } from './shown-text.ts';

export interface EventLayout {
  /** Prefix of each line. */
  agent: string;
  /** Includes the tools' output, durations, warnings and a final count. */
  isVerbose: boolean;
  showsText: boolean;
  showsProgress: boolean;
  isColored: boolean;
  /** Columns. Texts and outputs are cut to fit. Infinite without a terminal. */
  maxWidth: number;
}

export interface EventCounts {
  events: number;
  errors: number;
  warnings: number;
  /** Lines that are neither JSON nor plain text. */
  unreadableLines: number;
}

const MAX_TEXT_CHARACTERS = 80;
const MAX_OUTPUT_CHARACTERS = 100;
const MAX_ERROR_CHARACTERS = 200;
const MAX_NAME_CHARACTERS = 60;
const MAX_INPUT_CHARACTERS = 1000;
/** Shorter ones are uninteresting; in a stream without times they are not even durations. */
const MIN_DURATION_MS = 50;

/** Faults that leave a gap in what is shown. */
const SHOWN_WARNINGS: ReadonlySet<string> = new Set(['stream_corrupted', 'buffer_overflow', 'unsupported_version']);
/** JSON, or what was JSON, and binary data. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they tell binary data from words.
const LOOKS_UNREADABLE = /^[[{"]|[\u0000-\u0008\uFFFD]/;

const ARROW = '  -> ';
const UNPAIRED = ' (of a call not seen)';

const STYLES = { prefix: '36', tool: '1', error: '31', done: '32', aside: '2', prompt: '33' } as const;
type Style = keyof typeof STYLES;

/** A terminal's line for an event; undefined for events that are not shown. */
export function toEventLine(event: AgentEvent, layout: EventLayout): string | undefined {
  const { isVerbose, showsText, showsProgress } = layout;
  switch (event.type) {
    case 'session-start':
      return showsProgress ? toAside(`session ${event.sessionId} ${event.model ?? ''}`, layout) : undefined;
    case 'tool-start': {
      const name = paint(toShownText(event.toolName, MAX_NAME_CHARACTERS) || 'tool', 'tool', layout);
      const input = toShownText(event.toolInput, MAX_INPUT_CHARACTERS);
      return withPrefix(input === '' ? name : `${name}: ${input}`, layout);
    }
    case 'tool-end':
      return toToolEndLine(event, layout);
    case 'text':
      return showsText && event.text.trim() !== '' ? toTextLine(event.text, layout) : undefined;
    case 'result':
      return event.success
        ? withPrefix(paint('Complete', 'done', layout) + toFigures(event, layout), layout)
        : toErrorLine(event.error ?? '', layout, toFigures(event, layout));
    case 'prompt':
      return withPrefix(
        paint(toShownText(describePrompt(event.prompt), MAX_ERROR_CHARACTERS), 'prompt', layout),
        layout,
      );
    case 'progress':
      if (event.isError) return toErrorLine(event.text || event.name, layout);
      // Pieces of a text that follows complete.
      if (!showsProgress || event.name === 'text') return undefined;
      return toAside(event.text === '' ? event.name : `${event.name}: ${event.text}`, layout);
    case 'unknown':
      return showsProgress ? toAside(`unknown: ${event.name}`, layout) : undefined;
    case 'warning':
      return isVerbose || SHOWN_WARNINGS.has(event.warning.code) ? toWarningLine(event.warning, layout) : undefined;
  }
}

function toWarningLine({ message, lineNumber, quote }: LiveWarning, layout: EventLayout): string {
  const quoted = quote === undefined ? '' : `: ${toShownText(quote, MAX_OUTPUT_CHARACTERS)}`;
  return withPrefix(paint(`WARNING: ${message} (line ${lineNumber})${quoted}`, 'prompt', layout), layout);
}

/** True if a line that is not JSON is plain text, such as an agent's own message. */
export function isPlainText(line: string): boolean {
  return !LOOKS_UNREADABLE.test(line);
}

/** A line that is not JSON: plain text of the agent is shown unchanged; of all others only the first is quoted. */
export function toUnreadableLine(warning: LiveWarning, isFirst: boolean, layout: EventLayout): string | undefined {
  if (warning.quote !== undefined && isPlainText(warning.quote)) {
    return withPrefix(toShownText(warning.quote, MAX_OUTPUT_CHARACTERS), layout);
  }
  if (isFirst) return toWarningLine({ ...warning, message: 'Unreadable line' }, layout);
  const { quote: _quote, ...told } = warning;
  return layout.isVerbose ? toWarningLine(told, layout) : undefined;
}

/** True if an event counts as an error. */
export function isErrorEvent(event: AgentEvent): boolean {
  return (
    (event.type === 'tool-end' && event.toolError !== null) ||
    (event.type === 'result' && !event.success) ||
    (event.type === 'progress' && event.isError)
  );
}

/** The final lines, after all events. `isEndShown` means that an event has already said how it ended. */
export function toEndLines(
  error: string | null,
  counts: EventCounts,
  isEndShown: boolean,
  layout: EventLayout,
): string[] {
  const line = error === null ? withPrefix(paint('Complete', 'done', layout), layout) : toErrorLine(error, layout);
  const plural = (count: number, noun: string): string => `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
  const { events, errors, warnings, unreadableLines } = counts;
  const figures = [
    plural(events, 'event'),
    plural(errors, 'error'),
    ...(warnings > 0 ? [plural(warnings, 'warning')] : []),
  ];
  const lost = `WARNING: ${plural(unreadableLines, 'line')} could not be read`;
  return [
    ...(unreadableLines > 1 ? [withPrefix(paint(lost, 'prompt', layout), layout)] : []),
    ...(isEndShown ? [] : [line]),
    ...(layout.isVerbose ? [toAside(figures.join(', '), layout)] : []),
  ];
}

function toToolEndLine(event: ToolEndEvent, layout: EventLayout): string | undefined {
  const { toolOutput, toolError, durationMs, isUnpaired = false } = event;
  const isSlow = layout.isVerbose && durationMs !== null && durationMs >= MIN_DURATION_MS;
  const duration = isUnpaired ? UNPAIRED : isSlow ? ` (${toShortDuration(durationMs)})` : '';
  if (toolError !== null) return toErrorLine(toolError, layout, duration);
  // No other line shows this call.
  if (!layout.isVerbose && !isUnpaired) return undefined;
  const room = layout.maxWidth - ARROW.length - duration.length;
  const output = cutToWidth(toShownOutput(toolOutput, MAX_OUTPUT_CHARACTERS), room);
  return output + duration === '' ? undefined : paint(`${ARROW}${`${output}${duration}`.trim()}`, 'aside', layout);
}

function toTextLine(text: string, layout: EventLayout): string {
  const shown = toShownText(toFirstLine(text), MAX_TEXT_CHARACTERS);
  return withPrefix(`"${cutToWidth(shown, layout.maxWidth - toPrefixWidth(layout) - 2)}"`, layout);
}

function toErrorLine(error: string, layout: EventLayout, after = ''): string {
  const shown = toShownOutput(error, MAX_ERROR_CHARACTERS) || 'unknown';
  return withPrefix(`${paint(`ERROR: ${shown}`, 'error', layout)}${after}`, layout);
}

function toAside(text: string, layout: EventLayout): string {
  const shown = toShownText(text, MAX_OUTPUT_CHARACTERS);
  return withPrefix(paint(cutToWidth(shown, layout.maxWidth - toPrefixWidth(layout)), 'aside', layout), layout);
}

function toFigures(
  { costUsd, durationMs }: { costUsd: number | null; durationMs: number | null },
  layout: EventLayout,
) {
  const cost = costUsd === null ? [] : [`cost: $${costUsd.toFixed(4)}`];
  const duration = layout.isVerbose && durationMs !== null ? [toShortDuration(durationMs)] : [];
  const figures = [...cost, ...duration];
  return figures.length === 0 ? '' : ` (${figures.join(', ')})`;
}

function toShortDuration(durationMs: number): string {
  return durationMs < 60_000 ? `${(durationMs / 1000).toFixed(1)} s` : formatDuration(durationMs);
}

const toPrefixWidth = ({ agent }: EventLayout): number => toTextWidth(`[${agent}] `);

function withPrefix(text: string, layout: EventLayout): string {
  return `${paint(`[${layout.agent}]`, 'prefix', layout)} ${text}`;
}

function paint(text: string, style: Style, { isColored }: EventLayout): string {
  return isColored ? `\u001B[${STYLES[style]}m${text}\u001B[0m` : text;
}
