return select title as title, link as link from photos where owner = "{owner}"
  via route '/photos/{owner}'
  using method get
