import { lexer, type Token, type Tokens } from 'marked';
import { createElement, Fragment, type ReactNode } from 'react';
import { Code } from './code.tsx';

const MAX_DEPTH = 20;

/**
 * Markdown as elements. The text is hostile input. It becomes tokens, and tokens become elements made here, never HTML.
 * HTML in it is shown as text; links only lead to web and mail addresses, and show their target; images are not loaded,
 * because that would reveal that someone is reading.
 */
export const FormattedMarkdown = ({ text }: { text: string }): ReactNode => (
  <div className="markdown">{renderAll(lexer(text, { gfm: true }), 0)}</div>
);

function renderAll(tokens: readonly Token[] | undefined, depth: number): ReactNode {
  if (tokens === undefined) return null;
  if (depth > MAX_DEPTH) return tokens.map(({ raw }) => raw).join('');
  return tokens.map((token, index) => <Fragment key={index}>{render(token as Tokens.Generic, depth + 1)}</Fragment>);
}

function render(token: Tokens.Generic, depth: number): ReactNode {
  const inner = (): ReactNode => (token.tokens === undefined ? token.text : renderAll(token.tokens, depth));
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'heading':
      // Headings of a transcript are not headings of the page.
      return <p className={`md-heading md-heading-${token.depth}`}>{inner()}</p>;
    case 'paragraph':
      return <p>{inner()}</p>;
    case 'text':
      return inner();
    case 'strong':
      return <strong>{inner()}</strong>;
    case 'em':
      return <em>{inner()}</em>;
    case 'del':
      return <del>{inner()}</del>;
    case 'codespan':
      return <code>{token.text}</code>;
    case 'br':
      return <br />;
    case 'hr':
      return <hr />;
    case 'code':
      return <Code text={token.text} language={token.lang} />;
    case 'blockquote':
      return <blockquote>{inner()}</blockquote>;
    case 'list':
      return renderList(token as Tokens.List, depth);
    case 'table':
      return renderTable(token as Tokens.Table, depth);
    case 'link':
      return <Outside href={token.href}>{inner()}</Outside>;
    case 'image':
      return (
        <span className="tag">
          image not loaded: {token.text} <Outside href={token.href}>{token.href}</Outside>
        </span>
      );
    default:
      return token.type === 'escape' ? token.text : token.raw;
  }
}

/** A link out of a transcript, opened in a new tab, without a referrer. */
function Outside({ href, children }: { href: string; children: ReactNode }): ReactNode {
  if (!/^(https?:\/\/|mailto:)/i.test(href)) return <span title={href}>{children}</span>;
  return (
    <a href={href} title={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

function renderList({ ordered, start, items }: Tokens.List, depth: number): ReactNode {
  const children = items.map((item, index) => (
    <li key={index} className={item.task ? 'task' : undefined}>
      {item.task && (
        <input type="checkbox" checked={item.checked === true} disabled aria-label={item.checked ? 'done' : 'to do'} />
      )}
      {renderAll(
        item.tokens.filter(({ type }) => type !== 'checkbox'),
        depth,
      )}
    </li>
  ));
  return createElement(ordered ? 'ol' : 'ul', ordered && start !== '' && start !== 1 ? { start } : null, children);
}

function renderTable({ header, rows, align }: Tokens.Table, depth: number): ReactNode {
  const toClass = (index: number): string | undefined => (align[index] === 'right' ? 'end' : undefined);
  return (
    <div className="scroll-x" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>
            {header.map((cell, index) => (
              <th key={index} className={toClass(index)}>
                {renderAll(cell.tokens, depth)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, rowIndex) => (
            <tr key={rowIndex}>
              {row.map((cell, index) => (
                <td key={index} className={toClass(index)}>
                  {renderAll(cell.tokens, depth)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
