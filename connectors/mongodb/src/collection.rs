//! Statements carried out by the driver, documents on their way.

use futures_util::{Stream, StreamExt as _, pin_mut};
use mongodb::{
    Collection, Database,
    bson::{Bson, Document, doc},
    error::{Error, ErrorKind},
};
use qlio_serving::{Refused, Sender};
use serde_json::json;
use tokio::time::timeout;

use crate::request::{Action, Asked};

/// How a statement has gone on: what fails is told, a client that has gone is not.
type Outcome = Result<Result<(), qlio_serving::Gone>, Error>;

/// Carries a statement out within its time.
pub(crate) async fn carry_out(database: &Database, asked: Asked, mut sender: Sender) {
    let patience = asked.patience;
    let collection = database.collection::<Document>(&asked.collection);
    match timeout(patience, run(&collection, asked, &mut sender)).await {
        // Who has gone hears nothing.
        Ok(Ok(_)) => {}
        Ok(Err(error)) => sender.refuse(refused(&error)).await,
        Err(_) => {
            let message =
                format!("the database has not answered within {} ms", patience.as_millis());
            sender.refuse(Refused::new(504, message)).await;
        }
    }
}

async fn run(collection: &Collection<Document>, asked: Asked, sender: &mut Sender) -> Outcome {
    let Asked { action, filter, projection, limit, offset, mut values, pipeline, patience, .. } =
        asked;
    match action {
        Action::Find | Action::FindOne => {
            let limit = if action == Action::FindOne { Some(1) } else { limit };
            if limit == Some(0) {
                sender.end();
                return Ok(sender.flush().await);
            }
            let mut find = collection.find(filter).max_time(patience).skip(offset);
            if let Some(limit) = limit {
                find = find.limit(i64::try_from(limit).unwrap_or(i64::MAX));
            }
            if limit.is_some() || offset > 0 {
                find = find.sort(doc! {"_id": 1});
            }
            if let Some(projection) = projection {
                find = find.projection(projection);
            }
            send(find.await?, sender).await
        }
        Action::Aggregate => {
            send(collection.aggregate(pipeline).max_time(patience).await?, sender).await
        }
        Action::Count => {
            let count = collection.count_documents(filter).max_time(patience).await?;
            sender.add(&json!({"count": count}).to_string());
            sender.end();
            Ok(sender.flush().await)
        }
        Action::Insert => {
            let done = collection.insert_one(values).await?;
            let id = done.inserted_id.into_relaxed_extjson();
            sender.add(&json!({"insertedId": id}).to_string());
            sender.end();
            Ok(sender.flush().await)
        }
        Action::Update => {
            let Some(id) = values.remove("_id") else {
                return Err(Error::custom(Refused::new(422, "an update needs `_id`")));
            };
            let done =
                collection.update_one(doc! {"_id": {"$eq": id}}, doc! {"$set": values}).await?;
            sender.written(done.modified_count);
            Ok(sender.flush().await)
        }
        Action::Remove => {
            let done = collection.delete_many(filter).await?;
            sender.written(done.deleted_count);
            Ok(sender.flush().await)
        }
    }
}

/// Documents as lines, ids and dates as extended JSON writes them.
async fn send(
    documents: impl Stream<Item = Result<Document, Error>>,
    sender: &mut Sender,
) -> Outcome {
    pin_mut!(documents);
    while let Some(document) = documents.next().await {
        let row = Bson::Document(document?).into_relaxed_extjson().to_string();
        if sender.add(&row)
            && let Err(gone) = sender.flush().await
        {
            return Ok(Err(gone));
        }
    }
    sender.end();
    Ok(sender.flush().await)
}

/// What the server says, without what only we know.
fn refused(error: &Error) -> Refused {
    if let Some(own) = error.get_custom::<Refused>() {
        return Refused::new(own.status, own.message.clone());
    }
    match &*error.kind {
        ErrorKind::Command(told) => {
            // A time that was over, else a statement that cannot be carried out as it was asked for.
            let status = if told.code == 50 { 504 } else { 422 };
            Refused::new(status, told.message.clone())
        }
        ErrorKind::Write(_) => Refused::new(422, error.to_string()),
        _ => Refused::new(502, format!("the database cannot be used: {error}")),
    }
}
