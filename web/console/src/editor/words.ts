// The words that are coloured as keywords wherever they stand. A test compares them with the grammar
// that is made of the parser's own list, editors/qlio.tmLanguage.json.

export const KEYWORDS = new Set(
  `aliases all and arrays as asc assert at auth authenticate between bodyTemplate boolean by calls case
  catch client coerce columns cpuMs create cursor deadline defaults delete desc describe distinct do
  else end error exclude exists expect expires filter finally first foreach format from get group grpc
  having headers if ilike in insert into is join last left like limit limits link list mapping matches
  maxDelay memoryMiB message method minDelay missing names no not nulls number oauth2 object off
  offset on optional or order page pages paginate paging pairs params parts pass patch post put
  request requests resultset retry return root route routes rows scope secret select show size status
  table tables text then throw timeout to token total transformer try type union up update upstream
  upstreamMiB using value values via when where with xml`.split(/\s+/),
);
