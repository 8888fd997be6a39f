import type { ContentBlock, Session } from '@recount/contract';
import {
  describeLeftOut,
  type Step,
  type ToolStep,
  type Turn,
  toAsker,
  toConversation,
} from '@recount/contract/conversation';
import { formatCell, toCostDecimals } from '../report/format-cell.ts';
import { toTokens } from '../sessions/session-table.ts';
import { formatCount, formatCountOf, formatDuration, formatTimestamp } from '../terminal/format-values.ts';
import { cutToWidth, toSingleLine, wrapToWidth } from '../terminal/text-width.ts';
import { formatResult, formatTool } from './format-tool.ts';
import type { LoadedSession } from './read-session.ts';
import { INDENT, MAX_TEXT_WIDTH, SHORT_LINES, type ShownLine, type ShowOptions, wrapBlock } from './shown-lines.ts';

const SHORT_THINKING_LINES = 4;
const TURNS_BEFORE = 2;
const TURNS_AFTER = 8;
const SUBAGENT_INDENT = '    ';

/** A conversation for reading in a terminal. */
export function formatConversation(loaded: LoadedSession, options: ShowOptions): ShownLine[] {
  const { project } = loaded.session;
  return [...formatHeading(loaded.session, options), ...formatTurns(loaded, { ...options, project })];
}

function formatHeading(session: Session, { timeZone, width }: ShowOptions): ShownLine[] {
  const {
    title,
    project,
    git_branch: branch,
    repository,
    commit_hash: commit,
    first_timestamp: first,
    last_timestamp: last,
  } = session;
  const place = [project, branch === null ? '' : `(${branch})`].filter(Boolean).join(' ');
  const source = [repository, commit?.slice(0, 8)].filter(Boolean).join(' at ');
  const end =
    last === null
      ? ''
      : ` to ${formatTimestamp(last, timeZone).replace(formatTimestamp(first, timeZone).slice(0, 11), '')}`;
  const errors = session.tool_error_count + session.api_error_count;
  const tokens = toTokens(session);
  const figures = [
    formatCountOf(session.total_messages, 'message'),
    ...(tokens === null
      ? ['tokens and cost unknown, because the transcript has no usage']
      : [
          `${formatCount(tokens)} tokens`,
          formatMoney(session.cost_estimate_usd),
          ...(session.output_only_count > 0
            ? [`too low, because ${formatCountOf(session.output_only_count, 'response')} have only output`]
            : []),
        ]),
    ...(errors > 0 ? [formatCountOf(errors, 'error')] : []),
  ];
  return [
    { text: cutToWidth(toSingleLine(title), MAX_TEXT_WIDTH), style: 'bold' },
    {
      text: `${toSingleLine(session.session_id)}  ${session.agent}  ${session.models.map(toSingleLine).join(', ')}`,
      style: 'dim',
    },
    ...[place, source]
      .filter((line) => line !== '')
      .flatMap((line) => wrapToWidth(toSingleLine(line), width).map((text) => ({ text, style: 'dim' as const }))),
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
    lines.push(...formatTurn(turn, options, loaded.session.is_subagent));
    for (const child of children.get(turn) ?? []) lines.push(...formatSubagent(child, options));
  }
  const rest = turns.length - last;
  if (rest > 0) lines.push({ text: `… ${formatCountOf(rest, 'later turn')}`, style: 'dim' });
  for (const child of options.line === undefined ? (children.get(undefined) ?? []) : []) {
    lines.push(...formatSubagent(child, options));
  }
  if (loaded.is_cut) lines.push({ text: '… and more messages or sub-agents than are shown', style: 'dim' });
  return lines;
}

/** The turns around the turn with a line of the transcript, or the last line before it. */
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

/**
 * Assigns each sub-agent to the turn that started it, which has its prompt, else the last before it began; undefined is
 * the end.
 */
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

const NAMES = { answer: 'Agent', context: 'Context', system: 'System' };

function formatTurn(turn: Turn, options: ShowOptions, isSubagent: boolean): ShownLine[] {
  const { kind, message, steps } = turn;
  const { model, timestamp, cost_usd: cost, line_number: line, tokens_out: output } = message;
  const other = kind === 'prompt' ? toAsker(message, isSubagent) : NAMES[kind];
  const name = kind === 'answer' ? toSingleLine(model ?? NAMES.answer) : other;
  const time = formatTimestamp(timestamp, options.timeZone).slice(11);
  const figures = [cost === null ? '' : formatMoney(cost), output === null ? '' : `${formatCount(output)} out`];
  const heading = [name, time, ...figures, `line ${line}`].filter(Boolean).join('  ');
  const style = kind === 'prompt' ? 'cyan' : kind === 'answer' ? 'bold' : 'dim';
  return [
    { text: message.is_sidechain ? `${heading}  (sub-agent)` : heading, style },
    ...steps.flatMap((step) => formatStep(step, kind, options)),
    ...[describeLeftOut(turn) ?? []].flat().map((note) => ({ text: INDENT + note, style: 'dim' as const })),
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
