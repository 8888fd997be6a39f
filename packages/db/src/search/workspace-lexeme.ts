/**
 * A lexeme that all documents of a workspace have, quoted for a tsvector or tsquery: the index then never looks at those
 * of others. No word is ever equal to it, as it has a space.
 */
export function toWorkspaceLexeme(workspaceId: string): string {
  return `'workspace ${workspaceId.replace(/['\\]/g, '$&$&')}'`;
}
