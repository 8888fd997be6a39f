import { marked, type Token, type Tokens } from 'marked';

/** A paragraph, a point of a list, or a row of a table, as text without its markup. */
export interface Block {
  /** The heading above it. */
  section: string;
  text: string;
  /** The head of the table that it is a row of. */
  tableHead?: string;
}

/** The text of Markdown within a line, as a reader sees it. */
export const toText = (tokens: readonly Token[] | undefined): string => toRawText(tokens).replace(/\s+/g, ' ').trim();

function toRawText(tokens: readonly Token[] | undefined): string {
  return (tokens ?? [])
    .map((token) => {
      if ('tokens' in token && token.tokens !== undefined) return toRawText(token.tokens);
      if (token.type === 'br') return ' ';
      return token.type === 'html' ? '' : 'text' in token ? String(token.text) : '';
    })
    .join('');
}

const toRowText = (cells: readonly Tokens.TableCell[]): string =>
  cells
    .map(({ tokens }) => toText(tokens))
    .filter((text) => text !== '')
    .join(': ');

/** All blocks of a document, in order. Headings and code are none. */
export function readBlocks(markdown: string): Block[] {
  const blocks: Block[] = [];
  let section = '';
  const visit = (tokens: readonly Token[]): void => {
    for (const token of tokens as readonly Tokens.Generic[]) {
      if (token.type === 'heading') section = toText(token.tokens);
      else if (token.type === 'paragraph' || token.type === 'text')
        blocks.push({ section, text: toText(token.tokens) });
      else if (token.type === 'list') for (const item of (token as Tokens.List).items) visit(item.tokens);
      else if (token.type === 'table') {
        const { header, rows } = token as Tokens.Table;
        const tableHead = toRowText(header);
        blocks.push(...rows.map((row) => ({ section, text: toRowText(row), tableHead })));
      } else if (token.type === 'blockquote') visit(token.tokens ?? []);
    }
  };
  visit(marked.lexer(markdown));
  return blocks;
}
