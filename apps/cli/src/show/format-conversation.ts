import {
  type ContentBlock,
  describeToolInput,
  type Session,
  type Step,
  type ToolStep,
  type Turn,
  toConversation,
  toEdits,
} from '@recount/contract';
import { formatCell, toCostDecimals } from '../report/format-cell.ts';
import { toTokens } from '../sessions/session-table.ts';
import { formatCount, formatCountOf, formatDuration, formatTimestamp } from '../terminal/format-values.ts';
import { cutToWidth, toSingleLine, wrapToWidth } from '../terminal/text-width.ts';
import type { LoadedSession } from './read-session.ts';

export type LineStyle = 'bold' | 'dim' | 'red' | 'green' | 'cyan';

export interface ShownLine {
  text: string;
  style?: LineStyle;
}

export interface ShowOptions {
  timeZone: string;
  width: number;
  /** Whether inputs and results of tools are shown whole. */
  hasWholeTools: boolean;
  /** Working directory: paths below it are shown from there. */
  project?: string | null | undefined;
  /** Only what is around this line of the transcript. */
  line?: number | undefined;
}

/** Lines of a tool's input or result that are shown unless all are wanted. */
const SHORT_LINES = 6;
const SHORT_EDIT_LINES = 24;
const SHORT_THINKING_LINES = 4;
const TURNS_BEFORE = 2;
const TURNS_AFTER = 8;
/** So that what is wrapped can still be read in a wide terminal. */
const MAX_TEXT_WIDTH = 110;
const INDENT = '  ';
const SUBAGENT_INDENT = '    ';

/** A conversation as a person reads it in a terminal. */
export function formatConversation(loaded: LoadedSession, options: ShowOptions): ShownLine[] {
  const { project } = loaded.session;
  return [...formatHeading(loaded.session, options), ...formatTurns(loaded, { ...options, project })];
}

function formatHeading(session: Session, { timeZone, width }: ShowOptions): ShownLine[] {
  const {
    title,
    initial_prompt: prompt,
    project,
    git_branch: branch,
    first_timestamp: first,
    last_timestamp: last,
  } = session;
  const place = [project ?? 'no project', branch === null ? '' : `(${branch})`].filter(Boolean).join(' ');
  const end =
    last === null
      ? ''
      : ` to ${formatTimestamp(last, timeZone).replace(formatTimestamp(first, timeZone).slice(0, 11), '')}`;
  const errors = session.tool_error_count + session.api_error_count;
  const tokens = toTokens(session);
  const figures = [
    formatCountOf(session.total_messages, 'message'),
    ...(tokens === null
      ? ['tokens and cost not known: the transcript has no usage']
      : [
          `${formatCount(tokens)} tokens`,
          formatMoney(session.cost_estimate_usd),
          ...(session.output_only_count > 0
            ? [`too low: of ${formatCountOf(session.output_only_count, 'response')} only output is known`]
            : []),
        ]),
    ...(errors > 0 ? [formatCountOf(errors, 'error')] : []),
  ];
  return [
    { text: cutToWidth(toSingleLine(title ?? prompt ?? session.session_id), MAX_TEXT_WIDTH), style: 'bold' },
    {
      text: `${toSingleLine(session.session_id)}  ${session.agent}  ${session.models.map(toSingleLine).join(', ')}`,
      style: 'dim',
    },
    ...wrapToWidth(toSingleLine(place), width).map((text) => ({ text, style: 'dim' as const })),
    { text: `${formatTimestamp(first, timeZone)}${end} (${formatDuration(session.duration_ms)})`, style: 'dim' },
    { text: figures.join(', '), style: 'dim' },
    { text: '' },
  ];
}

const formatMoney = (cost: number | null): string =>
  formatCell(cost, 'cost', {
    currencyLabel: 'USD',
    timeZone: 'UTC',
    costDecimals: toCostDecimals(cost ?? 0),
    largest: 0,
  });

function formatTurns(loaded: LoadedSession, options: ShowOptions): ShownLine[] {
  const turns = toConversation(loaded.messages);
  const { first, last } = options.line === undefined ? { first: 0, last: turns.length } : toWindow(turns, options.line);
  const children = placeSubagents(turns, loaded.subagents);
  const lines: ShownLine[] = [];
  if (first > 0) lines.push({ text: `… ${formatCountOf(first, 'earlier turn')}`, style: 'dim' }, { text: '' });
  for (const turn of turns.slice(first, last)) {
    lines.push(...formatTurn(turn, options));
    for (const child of children.get(turn) ?? []) lines.push(...formatSubagent(child, options));
  }
  const rest = turns.length - last;
  if (rest > 0) lines.push({ text: `… ${formatCountOf(rest, 'later turn')}`, style: 'dim' });
  for (const child of options.line === undefined ? (children.get(undefined) ?? []) : []) {
    lines.push(...formatSubagent(child, options));
  }
  if (loaded.isCut) lines.push({ text: '… more messages than can be shown at once', style: 'dim' });
  return lines;
}

/** The turns around the one with a line of the transcript, or with the last line before it. */
function toWindow(turns: readonly Turn[], line: number): { first: number; last: number } {
  const toLines = ({ message, steps }: Turn): number[] => [
    message.line_number,
    ...steps.flatMap((step) => toBlocks(step).map(({ line_number }) => line_number)),
  ];
  const exact = turns.findIndex((turn) => toLines(turn).includes(line));
  const before = turns.findLastIndex(({ message }) => message.line_number <= line);
  const found = Math.max(0, exact >= 0 ? exact : before);
  return { first: Math.max(0, found - TURNS_BEFORE), last: Math.min(turns.length, found + TURNS_AFTER + 1) };
}

const toBlocks = (step: Step): ContentBlock[] =>
  step.kind === 'tool' ? [step.use, ...(step.result === undefined ? [] : [step.result])] : [step.block];

/** Puts each sub-agent behind the turn that started it: the one with its prompt, else the last before it began; undefined is the end. */
function placeSubagents(
  turns: readonly Turn[],
  subagents: readonly LoadedSession[],
): Map<Turn | undefined, LoadedSession[]> {
  const isStart = (step: Step): step is ToolStep => step.kind === 'tool' && step.use.tool_kind === 'agent';
  const starts = turns.filter(({ steps }) => steps.some(isStart));
  return Map.groupBy(subagents, ({ session: { initial_prompt: prompt, first_timestamp: began } }) => {
    const beginning = prompt?.slice(0, 200);
    const byPrompt = starts.find(({ steps }) =>
      steps.some((step) => {
        const given = isStart(step) ? (step.use.tool_input as { prompt?: unknown } | null)?.prompt : undefined;
        return beginning !== undefined && typeof given === 'string' && given.startsWith(beginning);
      }),
    );
    const byTime = starts.findLast(
      ({ message }) => began !== null && message.timestamp !== null && message.timestamp <= began,
    );
    return byPrompt ?? byTime;
  });
}

function formatSubagent(loaded: LoadedSession, options: ShowOptions): ShownLine[] {
  const { session } = loaded;
  const inner = { ...options, line: undefined, width: options.width - SUBAGENT_INDENT.length };
  const heading = `Sub-agent ${toSingleLine(session.agent_id ?? session.session_id)}  ${formatMoney(session.cost_estimate_usd)}`;
  return [
    { text: `${SUBAGENT_INDENT}${heading}`, style: 'bold' },
    ...formatTurns(loaded, inner).map((line) => ({
      ...line,
      text: line.text === '' ? '' : SUBAGENT_INDENT + line.text,
    })),
  ];
}

const NAMES: Record<Turn['kind'], string> = { prompt: 'You', answer: 'Agent', context: 'Context', system: 'System' };

function formatTurn({ kind, message, steps }: Turn, options: ShowOptions): ShownLine[] {
  const { model, timestamp, cost_usd: cost, line_number: line, tokens_out: output } = message;
  const name = kind === 'answer' ? toSingleLine(model ?? NAMES.answer) : NAMES[kind];
  const time = formatTimestamp(timestamp, options.timeZone).slice(11);
  const figures = [cost === null ? '' : formatMoney(cost), output === null ? '' : `${formatCount(output)} out`];
  const heading = [name, time, ...figures, `line ${line}`].filter(Boolean).join('  ');
  const style = kind === 'prompt' ? 'cyan' : kind === 'answer' ? 'bold' : 'dim';
  return [
    { text: message.is_sidechain ? `${heading}  (sub-agent)` : heading, style },
    ...steps.flatMap((step) => formatStep(step, kind, options)),
    { text: '' },
  ];
}

function formatStep(step: Step, turnKind: Turn['kind'], options: ShowOptions): ShownLine[] {
  switch (step.kind) {
    case 'text': {
      const isAside = turnKind === 'context' || turnKind === 'system';
      const lines = wrapBlock(step.block.content_text ?? '', options, isAside ? SHORT_LINES : undefined);
      return lines.map((text) => (isAside ? { text, style: 'dim' } : { text }));
    }
    case 'thinking':
      return wrapBlock(step.block.thinking_text ?? '', options, SHORT_THINKING_LINES).map((text) => ({
        text,
        style: 'dim',
      }));
    case 'tool':
      return formatTool(step, options);
    case 'result':
      return formatResult(step.block, options);
    case 'other':
      return [{ text: `${INDENT}[${step.block.block_type}]`, style: 'dim' }];
  }
}

/** Wrapped to the width and indented; beyond `maxLines` (unless tools are shown whole), how many lines there are more. */
function wrapBlock(text: string, { width, hasWholeTools }: ShowOptions, maxLines?: number): string[] {
  const columns = Math.max(20, Math.min(width, MAX_TEXT_WIDTH) - INDENT.length);
  const source = text.trimEnd().split('\n');
  const taken = maxLines === undefined || hasWholeTools ? source : source.slice(0, maxLines + 1);
  const wrapped = taken.flatMap((line) => wrapToWidth(toPlainLine(line), columns));
  const limit = maxLines === undefined || hasWholeTools ? wrapped.length : maxLines;
  const hidden = source.length - Math.min(taken.length, limit);
  const lines = wrapped.slice(0, limit).map((line) => INDENT + line);
  return hidden > 0 && wrapped.length > limit ? [...lines, `${INDENT}… ${formatCount(hidden)} more lines`] : lines;
}

/** Without control characters, and tabs as spaces: the guard of the terminal would print them as codes. */
const toPlainLine = (line: string): string =>
  line
    .replaceAll('\t', '  ')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours that tools print are what is taken out.
    .replace(/\u001B\[[\d;]*[A-Za-z]/g, '')
    .replace(/\p{Cc}/gu, '');

function formatTool({ use, result }: ToolStep, options: ShowOptions): ShownLine[] {
  const whole = toSingleLine(describeToolInput(use.tool_input));
  const { project } = options;
  const subject = project != null && whole.startsWith(`${project}/`) ? whole.slice(project.length + 1) : whole;
  const failed = result?.is_error === true;
  const mark = failed ? '✗' : '●';
  const columns = Math.max(20, Math.min(options.width, MAX_TEXT_WIDTH) - INDENT.length);
  const text = `${mark} ${toSingleLine(use.tool_name ?? 'tool')}  ${subject}`.trimEnd();
  const heading: ShownLine = {
    text: INDENT + (options.hasWholeTools ? text : cutToWidth(text, columns)),
    ...(failed && { style: 'red' }),
  };
  const edits = use.tool_kind === 'edit' ? toEdits(use.tool_input) : [];
  const isOtherInput = options.hasWholeTools && edits.length === 0 && subject === '' && use.tool_input !== null;
  const input = isOtherInput ? wrapBlock(JSON.stringify(use.tool_input, null, 2), deepen(options)) : [];
  return [
    heading,
    ...input.map((line) => ({ text: INDENT + line, style: 'dim' as const })),
    ...formatEdits(edits, options),
    // What an edit prints repeats the edit.
    ...(result === undefined || (edits.length > 0 && !failed && !options.hasWholeTools)
      ? []
      : formatResult(result, options)),
  ];
}

const deepen = (options: ShowOptions): ShowOptions => ({ ...options, width: options.width - INDENT.length });

function formatEdits(edits: ReturnType<typeof toEdits>, options: ShowOptions): ShownLine[] {
  const toLines = (text: string, sign: string): string[] =>
    text === ''
      ? []
      : text
          .replace(/\n$/, '')
          .split('\n')
          .map((line) => sign + line);
  const lines = edits.flatMap(({ before, after }) => {
    const [removed, added] = dropCommonLines(toLines(before, ''), toLines(after, ''));
    return [...removed.map((line) => `- ${line}`), ...added.map((line) => `+ ${line}`)];
  });
  const shown = options.hasWholeTools ? lines : lines.slice(0, SHORT_EDIT_LINES);
  const columns = Math.max(20, Math.min(options.width, MAX_TEXT_WIDTH) - 2 * INDENT.length);
  const hidden = lines.length - shown.length;
  return [
    ...shown.map((line): ShownLine => {
      const text =
        INDENT + INDENT + (options.hasWholeTools ? toPlainLine(line) : cutToWidth(toPlainLine(line), columns));
      return { text, style: line.startsWith('+') ? 'green' : 'red' };
    }),
    ...(hidden > 0 ? [{ text: `${INDENT}${INDENT}… ${formatCount(hidden)} more lines`, style: 'dim' as const }] : []),
  ];
}

/** Without the lines that both begin and end with. */
function dropCommonLines(before: readonly string[], after: readonly string[]): [string[], string[]] {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  return [before.slice(start, before.length - end), after.slice(start, after.length - end)];
}

function formatResult(block: ContentBlock, options: ShowOptions): ShownLine[] {
  const text = block.result_text ?? block.content_text ?? '';
  if (text.trim() === '') return [];
  const style = block.is_error === true ? 'red' : 'dim';
  const lines = wrapBlock(text, deepen(options), SHORT_LINES);
  const cut =
    block.metadata.truncated === true && options.hasWholeTools
      ? [`${INDENT}… cut; --raw --line ${block.line_number} has the whole`]
      : [];
  return [...lines, ...cut].map((line) => ({ text: INDENT + line, style }));
}
