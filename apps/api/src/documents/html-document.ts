import {
  type ContentBlock,
  describeLeftOut,
  describeToolInput,
  type Session,
  type Step,
  type ToolStep,
  type Turn,
  toConversation,
  toEdits,
  toVisible,
} from '@recount/contract';
import { Marked } from 'marked';
import { type DocumentLayout, toDocumentHeading, toLeftOutNote, toTurnHeading } from './document-words.ts';
import { createHtmlPage, toHtml } from './html-page.ts';
import type { SessionDocument } from './session-document.ts';

const STYLE = `
:root { color-scheme: light dark; --text: #1d2330; --muted: #5c6675; --page: #fff; --soft: #f3f5f8; --line: #d9dee6;
  --accent: #1f5fbf; --bad: #b3261e; --added: #e3f5e6; --removed: #fde8e6; }
@media (prefers-color-scheme: dark) { :root { --text: #e3e8f0; --muted: #9aa5b5; --page: #12161d; --soft: #1b212b;
  --line: #313a48; --accent: #82b1ff; --bad: #ff8a80; --added: #16331d; --removed: #3b1a18; } }
body { margin: 0 auto; max-width: 52rem; padding: 2rem 1rem 4rem; background: var(--page); color: var(--text);
  font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .25rem; } .facts, .end { color: var(--muted); font-size: .875rem; }
article { margin: 1.5rem 0; padding-left: .9rem; border-left: 3px solid var(--line); }
article.prompt { border-color: var(--accent); } article.context, article.system { color: var(--muted); font-size: .9rem; }
h2 { font-size: .85rem; font-weight: 600; color: var(--muted); margin: 0 0 .4rem; }
article.prompt h2 { color: var(--accent); } .heading { font-weight: 600; }
pre, code { font: .85rem/1.45 ui-monospace, monospace; } code { background: var(--soft); border-radius: 3px; padding: 0 .2em; }
pre { background: var(--soft); border-radius: 6px; padding: .6rem .8rem; overflow-x: auto; white-space: pre-wrap; margin: .4rem 0; }
pre code { background: none; padding: 0; } details { margin: .4rem 0; } summary { cursor: pointer; }
summary b { font-weight: 600; } .failed > summary b { color: var(--bad); } .subject { color: var(--muted); }
ins, del { text-decoration: none; display: block; } ins { background: var(--added); } del { background: var(--removed); }
table { border-collapse: collapse; } td, th { border: 1px solid var(--line); padding: .2rem .5rem; text-align: left; }
blockquote { margin: .5rem 0; padding-left: .8rem; border-left: 3px solid var(--line); color: var(--muted); }
section { margin: 2rem 0 2rem 1rem; } a { color: var(--accent); }
@media print { details { break-inside: avoid; } body { max-width: none; } }
`;

const PAGE = createHtmlPage(STYLE);

/** A page made by `formatHtmlDocument` may load only its own style. */
export const DOCUMENT_CONTENT_SECURITY_POLICY = PAGE.policy;

/**
 * The conversation as one self-contained HTML file that runs nothing. It has no script, no image, no request.
 * Transcript content is hostile input. Everything is escaped, and the page's own policy forbids the rest.
 */
export function formatHtmlDocument(document: SessionDocument, layout: DocumentLayout): string {
  const { title } = toDocumentHeading(document.session, layout);
  return PAGE.format(title, formatSession(document, layout, 1));
}

function formatSession(document: SessionDocument, layout: DocumentLayout, level: 1 | 2): string {
  const { title, facts } = toDocumentHeading(document.session, layout);
  const heading = level === 1 ? title : `Sub-agent: ${title}`;
  return [
    `<h1>${toHtml(heading)}</h1>`,
    `<p class="facts">${facts.map(toHtml).join(' · ')}</p>`,
    ...toConversation(document.messages).map((turn) => formatTurn(turn, layout, document.session)),
    ...(document.isCut
      ? ['<p class="end">More messages or sub-agents than a document holds. The rest is left out.</p>']
      : []),
    ...document.subagents.map((child) => `<section>${formatSession(child, layout, 2)}</section>`),
  ].join('\n');
}

function formatTurn(turn: Turn, layout: DocumentLayout, { agent, is_subagent: isSubagent }: Session): string {
  const { kind, message, steps } = turn;
  return `<article class="${kind}" id="line-${message.line_number}">
<h2>${toHtml(toTurnHeading(turn, layout, isSubagent))}</h2>
${[...steps.map((step) => formatStep(step, agent)), formatEnd(describeLeftOut(turn))].join('\n')}
</article>`;
}

function formatStep(step: Step, agent: string): string {
  switch (step.kind) {
    case 'text':
      return formatText(step.block.content_text ?? '') + formatNote(step.block, agent);
    case 'thinking':
      return `<details><summary>Thinking</summary>${formatText(step.block.thinking_text ?? '')}${formatNote(step.block, agent)}</details>`;
    case 'result':
      return formatResult(step.block, agent);
    case 'other':
      return `<p class="end">[${toHtml(step.block.block_type)}]</p>`;
    case 'tool':
      return formatTool(step, agent);
  }
}

function formatTool({ use, result }: ToolStep, agent: string): string {
  const edits = use.tool_kind === 'edit' ? toEdits(use.tool_input) : [];
  const subject = describeToolInput(use.tool_input);
  const isFailed = result?.is_error === true;
  const diff = edits.map(({ before, after }) => `${toChange('del', before)}${toChange('ins', after)}`).join('');
  const input = diff === '' ? formatPlain(subject) : `<pre>${diff}</pre>`;
  const line = toHtml(subject.replace(/\s+/g, ' ').slice(0, MAX_SUBJECT_LENGTH));
  return `<details${isFailed ? ' class="failed" open' : ''}><summary><b>${toHtml(use.tool_name ?? 'tool')}</b>${
    isFailed ? ' (failed)' : ''
  } <span class="subject">${line}</span></summary>${input}${formatNote(use, agent)}${result === undefined ? '' : formatResult(result, agent)}</details>`;
}

const formatResult = (block: ContentBlock, agent: string): string =>
  formatPlain(block.result_text ?? '') + formatNote(block, agent);

const formatNote = (block: ContentBlock, agent: string): string => formatEnd(toLeftOutNote(agent, block));

const formatEnd = (note: string | undefined): string =>
  note === undefined ? '' : `<p class="end">${toHtml(note)}</p>`;

const MAX_SUBJECT_LENGTH = 120;
/** Longer texts are shown unformatted. They are too long to be read, and a hostile one could take long. */
const MAX_FORMATTED_LENGTH = 100_000;

const toChange = (tag: 'ins' | 'del', text: string): string =>
  text === '' ? '' : `<${tag}>${toHtml(text.replace(/\n$/, ''))}</${tag}>`;

const formatPlain = (text: string): string => (text === '' ? '' : `<pre>${toHtml(text)}</pre>`);

function formatText(text: string): string {
  if (text.length > MAX_FORMATTED_LENGTH) return formatPlain(text);
  return markdown.parse(toVisible(text), { async: false });
}

/**
 * Tokens that marked escapes itself, with these exceptions: HTML stays text, links may only be web and mail addresses,
 * images become their names.
 */
const markdown = new Marked({
  gfm: true,
  renderer: {
    html: ({ text }) => toHtml(text),
    // Inside certain tags, which are text here, marked would pass texts through unescaped.
    text(token) {
      return 'tokens' in token && token.tokens !== undefined
        ? this.parser.parseInline(token.tokens)
        : toHtml(token.text);
    },
    heading({ tokens }) {
      return `<p class="heading">${this.parser.parseInline(tokens)}</p>\n`;
    },
    link({ href, tokens }) {
      const inner = this.parser.parseInline(tokens);
      if (!/^(https?:\/\/|mailto:)/i.test(href)) return inner;
      return `<a href="${toHtml(href)}" rel="noopener noreferrer nofollow">${inner}</a>`;
    },
    image: ({ href, text }) => `[image ${toHtml(text)} ${toHtml(href)}]`,
    code: ({ text }) => `<pre><code>${toHtml(text)}</code></pre>\n`,
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
  },
});
