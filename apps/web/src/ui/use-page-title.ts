import { useEffect } from 'react';

const PRODUCT = 'recount';

/** Shows the title in the browser's tab, history and bookmarks. Undefined leaves it to another part of the page. */
export function usePageTitle(title: string | undefined): void {
  useEffect(() => {
    if (title !== undefined) document.title = `${title} · ${PRODUCT}`;
  }, [title]);
}
