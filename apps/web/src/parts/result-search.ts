import type { SearchResult } from '@recount/contract';

/** The parameters of a session's page that open the message of a search result, and mark the first text that matches. */
export const toResultSearch = ({ message_id, snippet }: SearchResult): Record<string, unknown> => ({
  message: message_id,
  find: snippet.find(({ is_match }) => is_match)?.text,
});
