const STORAGE_KEY = 'recount.session-views';
const MAX_VIEWS = 50;

/** A named view of sessions, which is stored in this browser for this recount address. */
export interface StoredView {
  name: string;
  /** Query of the URL, including `?`; empty means everything. */
  search: string;
}

/** The views that are stored in this browser, the oldest first; none if they cannot be read. */
export function readStoredViews(): StoredView[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? '[]');
    if (!Array.isArray(stored)) return [];
    return stored.filter(
      (view): view is StoredView => typeof view?.name === 'string' && typeof view?.search === 'string',
    );
  } catch {
    // Written by something else, or the browser's storage is disabled.
    return [];
  }
}

/** Stores the latest 50 of these views, and returns them. */
export function storeViews(views: readonly StoredView[]): StoredView[] {
  const kept = views.slice(-MAX_VIEWS);
  localStorage.setItem(STORAGE_KEY, JSON.stringify(kept));
  return kept;
}
