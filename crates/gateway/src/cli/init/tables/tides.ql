/* The tides of one **harbour**, as the API has them. `^` makes it a must: without a harbour nothing is asked. */
create table tides on select get from "{config.tides.api}/tides/{^harbour}" resultset 'tides'
