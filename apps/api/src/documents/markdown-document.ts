import {
  type ContentBlock,
  describeLeftOut,
  describeToolInput,
  type Step,
  toConversation,
  toEdits,
  toVisible,
} from '@recount/contract';
import { lexer, walkTokens } from 'marked';
import { type DocumentLayout, toDocumentHeading, toLeftOutNote, toTurnHeading } from './document-words.ts';
import type { SessionDocument } from './session-document.ts';

/**
 * The conversation as Markdown that renders on GitHub and the like; tools' texts are in fences that they cannot close.
 */
export function formatMarkdownDocument(document: SessionDocument, layout: DocumentLayout): string {
  const { title, facts } = toDocumentHeading(document.session, layout);
  const turns = toConversation(document.messages).map((turn) =>
    [
      `## ${escapeLine(toTurnHeading(turn, layout, document.session.is_subagent))}`,
      ...turn.steps.map((step) => toMarkdownStep(step, document.session.agent)),
      toNote(describeLeftOut(turn)),
    ]
      .filter(Boolean)
      .join('\n\n'),
  );
  const children = document.subagents.map((child) =>
    formatMarkdownDocument(child, layout).replace(/^# /, '# Sub-agent: '),
  );
  const end = document.isCut ? ['*More messages or sub-agents than a document holds. The rest is left out.*'] : [];
  return [`# ${escapeLine(title)}`, escapeLine(facts.join(' · ')), ...turns, ...end, ...children].join('\n\n');
}

/** A heading's text, with all markup escaped. */
const escapeLine = (text: string): string => text.replace(/[\\`*_[\]<>#|~]/g, '\\$&');

function toMarkdownStep(step: Step, agent: string): string {
  switch (step.kind) {
    case 'text':
      return addNote(escapeTags(toVisible(step.block.content_text ?? '')), step.block, agent);
    case 'thinking':
      return addNote(escapeTags(toVisible(step.block.thinking_text ?? '')).replace(/^/gm, '> '), step.block, agent);
    case 'result':
      return toResult(step.block, agent);
    case 'other':
      return `*${step.block.block_type}*`;
    case 'tool': {
      const { use, result } = step;
      const edits = use.tool_kind === 'edit' ? toEdits(use.tool_input) : [];
      const diff = edits
        .map(({ before, after }) => [prefix(before, '- '), prefix(after, '+ ')].filter(Boolean).join('\n'))
        .join('\n');
      const heading = `**${escapeLine(toVisible(use.tool_name ?? 'tool'))}**${result?.is_error === true ? ' (failed)' : ''}`;
      const input = diff === '' ? toFence(describeToolInput(use.tool_input)) : toFence(diff, 'diff');
      return [heading, addNote(input, use, agent), result === undefined ? '' : toResult(result, agent)]
        .filter(Boolean)
        .join('\n\n');
    }
  }
}

const toResult = (block: ContentBlock, agent: string): string =>
  addNote(toFence(block.result_text ?? ''), block, agent);

const addNote = (text: string, block: ContentBlock, agent: string): string =>
  [text, toNote(toLeftOutNote(agent, block))].filter(Boolean).join('\n\n');

const toNote = (note: string | undefined): string => (note === undefined ? '' : `*${escapeLine(note)}*`);

const prefix = (text: string, sign: string): string => (text === '' ? '' : text.replace(/^/gm, sign));

/** HTML in a transcript stays text, although Markdown may contain HTML. */
function escapeTags(text: string): string {
  const found = new Set<string>();
  walkTokens(lexer(text), ({ type, raw }) => {
    if (type === 'html') found.add(raw);
  });
  let escaped = text;
  for (const raw of found) escaped = escaped.replaceAll(raw, raw.replaceAll('<', '&lt;'));
  return escaped;
}

function toFence(text: string, language = ''): string {
  if (text === '') return '';
  const visible = toVisible(text);
  const longest = Math.max(2, ...(visible.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${visible.replace(/\n$/, '')}\n${fence}`;
}
