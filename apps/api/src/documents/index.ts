export type { DocumentLayout } from './document-words.ts';
export {
  FIGURES_CONTENT_SECURITY_POLICY,
  type FiguresDocument,
  type FiguresTable,
  formatFiguresDocument,
  formatValue,
} from './figures-document.ts';
export { DOCUMENT_CONTENT_SECURITY_POLICY, formatHtmlDocument } from './html-document.ts';
export { formatMarkdownDocument } from './markdown-document.ts';
export {
  loadSessionDocument,
  type RedactionCounts,
  redactDocument,
  type SessionDocument,
  sanitizeDocument,
} from './session-document.ts';
